"""EPyMARL's grids of hyperparameters, and its command line."""

import io
import random

import pytest
import yaml

import main as main_module
from standins import ROOT
from suites.command import grid as command
from suites.plan.expansion import expanded
from suites.plan.grid_file import read_grid
from suites.plan.suite_file import read_suite
from utils.errors import ConfigError

GRID = """
grid-search:
  "--config": [iql, vdn]
  lr: [0.0003, 0.0005]
  gamma: 0.9
grid-search-groups:
  two:
    - "--env-config": two_step
  spread:
    - "--env-config": gymma
    - env_args.key: pz-mpe-simple-spread-v3
    - env_args.time_limit: 25
"""
EXAMPLE = ROOT / "src" / "search.config.example.yaml"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my.grid.yaml"
    path.write_text(GRID)
    return path


def test_runs_are_in_epymarls_order(file):
    grid = read_grid(file)
    runs = grid.runs(seeds=2, shuffle=False)
    assert len(runs) == 2 * 2 * 2 * 2
    assert runs[0] == {
        "hypergroup": "hp_grp_0",
        "--config": "epymarl_iql",
        "lr": 0.0003,
        "gamma": 0.9,
        "--env-config": "two_step",
        "seed": 0,
    }
    assert [run["hypergroup"] for run in runs[::2]] == [f"hp_grp_{i}" for i in range(8)]
    assert [run["seed"] for run in runs[:4]] == [0, 1, 0, 1]
    assert [run["--env-config"] for run in runs[:4]] == ["two_step", "two_step", "gymma", "gymma"]
    random.Random(1337).shuffle(runs)
    assert grid.runs(seeds=2, shuffle=True) == runs


def test_a_grid_is_a_suite_with_as_many_runs(file, tmp_path):
    path = tmp_path / "suite.yaml"
    path.write_text(yaml.safe_dump(read_grid(file).suite(3), sort_keys=False))
    suite = read_suite(path)
    assert (suite.name, suite.seeds, suite.algorithms) == ("my-grid", [0, 1, 2], ["epymarl_iql", "epymarl_vdn"])
    assert suite.overrides["group"]["spread"]["env_args"]["key"] == "pz-mpe-simple-spread-v3"
    assert [*suite.overrides["lr"]] == ["0-0003", "0-0005"]
    own = [{"environment": ["two_step"], "group": ["spread"]}, {"environment": ["gymma"], "group": ["two"]}]
    assert suite.excluded == own, "each environment plays its own groups only"


def run(words, monkeypatch, answer=""):
    """The words with which suites and main.py are called."""
    called = []
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    monkeypatch.setattr("suites.command.main.dispatch", called.append)
    monkeypatch.setattr(main_module, "main", lambda words: called.append(words) or 0)
    command.dispatch(words)
    return called


@pytest.mark.parametrize(("answer", "options"), [("y\n", []), ("", ["--yes"])])
def test_locally_asks_and_starts_a_suite(file, tmp_path, monkeypatch, capsys, answer, options):
    words = ["run", f"--config={file}", "--seeds", "5", f"--results={tmp_path}", "locally", "--cpus", "2", *options]
    checked, started = run(words, monkeypatch, answer)
    assert checked == [*started, "--dry-run"]
    assert started == ["run", f"{tmp_path}/searches/my-grid.yaml", f"--results={tmp_path}", "--jobs=2"]
    assert "There are 40 runs. Up to 2 will run in parallel. Continue? [y/N]" in capsys.readouterr().out


def test_without_an_answer_nothing_starts(file, tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="Nothing has started"):
        run(["run", f"--config={file}", f"--results={tmp_path}", "locally"], monkeypatch)


def test_single_is_one_of_them_counted_from_zero(file, tmp_path, monkeypatch):
    words = ["run", f"--config={file}", "--seeds=2", "--no-shuffle", f"--results={tmp_path}", "single", "3"]
    said = "--config=epymarl_iql --env-config=gymma with hypergroup=hp_grp_1 lr=0.0003 gamma=0.9"
    assert run(words, monkeypatch) == [
        [
            *said.split(),
            "env_args.key=pz-mpe-simple-spread-v3",
            "env_args.time_limit=25",
            "seed=1",
            f"local_results_path={tmp_path}",
        ]
    ]


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        (GRID, ["single", "24"], "there are 24 runs, counted from 0"),
        (GRID, [], "ends with one of locally and single"),
        (GRID, ["locally", "--cpu=2"], "Did you mean '--cpus'"),
        ("grid-serch: {}", ["locally"], "Did you mean 'grid-search'"),
        ("grid-search: {lr: 1}", ["locally"], 'needs "--config"'),
        ('grid-search: {"--config": a}\ngrid-search-groups: {g: [{a: 1}]}', ["locally"], 'g lacks "--env-config"'),
        ('grid-search: {"--config": a}\ngrid-search-groups: {g: 3}', ["locally"], "must be a list of keys"),
        ("[", ["locally"], "invalid YAML"),
        (f"exclude: [lr]\n{GRID}", ["locally"], "exclude has no effect"),
    ],
)
def test_what_is_refused(tmp_path, monkeypatch, content, words, message):
    path = tmp_path / "grid.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        run(["run", f"--config={path}", f"--results={tmp_path}", *words], monkeypatch)


def test_the_example_is_found_by_its_name_and_its_runs_are_accepted(tmp_path, monkeypatch, capsys):
    """From any folder, as `--config=search.config.example.yaml`."""
    monkeypatch.chdir(tmp_path)
    assert run(["run", "--config=search.config.example.yaml", "--seeds=5", "locally", "--list"], monkeypatch) == []
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * 2 * 2 * 2 * 5
    monkeypatch.undo()
    for one in read_grid(EXAMPLE).runs(1, shuffle=False)[::5]:
        assert main_module.main(["print_config", *command.words_of(one)]) == 0


THEIRS = """
exclude: null
grid-search:
  "--config": ["qmix_ns", "mappo"]
  use_rnn: [False]
  hidden_dim: [16, 32]
  evaluation_epsilon: [0.0, 0.05]
  save_model: [false]
grid-search-groups:
  env0:
    - "--env-config": "gymma"
    - env_args.key: lbforaging:Foraging-8x8-2p-3f-v3
    - env_args.time_limit: 25
"""


def test_epymarls_keys_and_algorithms(tmp_path, monkeypatch):
    """Of a file of EPyMARL's form: runs one by one, and the suite's."""
    path = tmp_path / "theirs.yaml"
    path.write_text(THEIRS)
    grid = read_grid(path)
    runs = grid.runs(1, shuffle=False)
    assert {run["--config"] for run in runs} == {"epymarl_qmix_ns", "epymarl_mappo"}
    for one in runs[::3]:
        assert main_module.main(["print_config", *command.words_of(one)]) == 0
    suite_file = tmp_path / "suite.yaml"
    suite_file.write_text(yaml.safe_dump(grid.suite(1), sort_keys=False))
    settings = [point.settings for point in expanded(read_suite(suite_file))]
    assert sorted({own["rnn_hidden_dim"] for own in settings}) == [16, 32]
    assert all(own["hidden_dim"] == own["rnn_hidden_dim"] == own["critic_hidden_dim"] for own in settings)
    assert len(settings) == len(runs) == 8
