"""`play --cross`: what it plays, writes and prints, and what it refuses."""

import json
import re
from pathlib import Path

import pytest

import play as door
from cli.arguments import parse_arguments
from cli.experiment import run_experiment
from records.cross_play import read_matrix

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two seeds of vdn and one of ippo on the two-step game, and a run of another game."""
    folder = tmp_path_factory.mktemp("crossed") / "results"
    shared = f"t_max=60 test_interval=30 test_nepisode=1 batch_size=4 batch_size_run=2 local_results_path={folder}"
    for words in (
        f"--config=vdn --env-config=two_step with runner=episodes seed=1 {shared}",
        f"--config=vdn --env-config=two_step with runner=episodes seed=2 obs_last_action=True {shared}",
        f"--config=ippo --env-config=two_step with seed=3 agent=ff {shared}",
        f"--config=vdn --env-config=matrix with runner=episodes seed=4 env_args.episode_limit=2 {shared}",
        f"--config=vdn --env-config=matrix with runner=episodes seed=5 {shared}",
    ):
        run_experiment(parse_arguments(words.split()))
    return folder


def crossed(capsys, *words):
    code = door.main(["--cross", *map(str, words)])
    return code, capsys.readouterr()


def cells_of(folder):
    return {(cell.row, cell.column): cell.returns.mean for cell in read_matrix(folder).cells}


def test_a_matrix_of_runs(results, capsys, tmp_path):
    words = (1, 2, 3, "--results", results, "--episodes", 5, "--out", tmp_path / "all", "with", "test_greedy=False")
    code, shown = crossed(capsys, *words)
    assert (code, shown.err) == (0, "")
    assert max(map(len, shown.out.split("Matrix:")[0].splitlines()[4:])) <= 80
    for text in ("rows play agent_0, columns agent_1; means and standard errors of 5", "other seeds of it:"):
        assert text in shown.out
    matrix = read_matrix(tmp_path / "all")
    assert [model.kind for model in matrix.models] == ["vdn", "vdn", "ippo"]
    assert [model.seed for model in matrix.models] == [1, 2, 3]
    assert (matrix.env, matrix.opposed, matrix.episodes, matrix.places) == (
        "two_step", False, 5, (["agent_0"], ["agent_1"]),
    )  # fmt: skip
    assert set(cells_of(tmp_path / "all").values()) <= {k / 5 for k in range(41)}
    # a pair plays the same whichever others do: the first one's environments and random numbers
    code, shown = crossed(capsys, *words[:2], *words[3:6], 5, "--out", tmp_path / "two", "with", "test_greedy=False")
    assert code == 0
    part = cells_of(tmp_path / "two")
    assert part == {pair: mean for pair, mean in cells_of(tmp_path / "all").items() if pair in part}


def test_the_diagonal_is_what_an_evaluation_plays(results, capsys, tmp_path):
    code, _ = crossed(capsys, 1, 3, "--results", results, "--episodes", 4, "--out", tmp_path / "m")
    run_experiment(parse_arguments(f"--evaluate=3 with test_nepisode=4 local_results_path={results}".split()))
    evaluated = float(re.search("test_return_mean: *([-.0-9]+)", capsys.readouterr().out)[1])
    assert code == 0 and cells_of(tmp_path / "m")[1, 1] == evaluated


def test_opposed_groups_of_runs_with_one_team_and_with_two(tmp_path, capsys):
    """The model of step 0 of the pool against the last one, which has learned that large actions win."""
    plugin = Path(__file__).parents[1] / "support" / "convoy_plugin.py"
    learned = "lr=0.01 critic_lr=0.01 batch_size_run=16 rollout_steps=12 minibatches=1 t_max=4000 test_interval=10000"
    shared = f"env=duel plugins={plugin} opponents=pool opponent_nepisode=0 opponent_interval=100000 agent=ff {learned}"
    shared += f" test_nepisode=1 seed=1 save_model=True local_results_path={tmp_path}"
    run_experiment(parse_arguments(f"--config=ippo --env-config=two_step with {shared}".split()))
    two = "teams.red.config=ippo teams.blue.config=ippo"
    run_experiment(parse_arguments(f"--config=ippo --env-config=two_step with {shared} {two}".split()))
    capsys.readouterr()
    words = ["1@0", 1, 2, "--model", "newest", "--results", tmp_path, "--episodes", 40, "--out", tmp_path / "m"]
    code, shown = crossed(capsys, *words, "with", "test_greedy=False")
    assert (code, shown.err) == (0, "")
    matrix = read_matrix(tmp_path / "m")
    assert matrix.opposed and matrix.places == (["red"], ["blue"])
    assert matrix.cell(1, 0).wins.mean > 0.85 and matrix.cell(0, 2).wins.mean < 0.15
    for cell in matrix.cells:  # the sum of both is 0
        assert cell.returns.mean == pytest.approx(-cell.others.mean)
    assert "Win rate of the row's side (rows play red, columns blue;" in shown.out


def test_a_cell_does_not_depend_on_others_in_a_game_of_chance(tmp_path, capsys):
    """The same model three times: cells are alike whose agents draw their actions in the same order."""
    words = "--config=ippo --env-config=lbf with env_args.key=Foraging-5x5-2p-3f-v3 agent=ff t_max=60 seed=1"
    words += f" test_interval=100 test_nepisode=1 batch_size_run=4 local_results_path={tmp_path}"
    run_experiment(parse_arguments(words.split()))
    given = (1, 1, "latest", "--results", tmp_path, "--episodes", 10, "--out", tmp_path / "m")
    assert crossed(capsys, *given, "with", "test_greedy=False")[0] == 0
    cells = cells_of(tmp_path / "m")
    order = lambda pair: (pair[0] > pair[1]) - (pair[0] < pair[1])  # noqa: E731
    kinds = [{mean for pair, mean in cells.items() if order(pair) == kind} for kind in (-1, 0, 1)]
    assert len(cells) == 9 and [len(kind) for kind in kinds] == [1, 1, 1] and cells[0, 0] > 0


def test_a_matrix_goes_among_the_results(results, capsys):
    code, shown = crossed(capsys, 1, 2, "--results", results, "--episodes", 1)
    assert code == 0
    (folder,) = (results / "cross_play").iterdir()
    assert f"Matrix: {folder}" in shown.out and read_matrix(folder).cells[0].returns.error is None


def test_the_first_episodes_of_each_pair_are_recorded(results, capsys, tmp_path):
    words = (1, 3, "--results", results, "--episodes", 3, "--out", tmp_path / "m", "--replays", 2)
    code, shown = crossed(capsys, *words)
    assert (code, shown.err) == (0, "")
    paths = [Path(line.removeprefix("Replay: ")) for line in shown.out.splitlines() if line.startswith("Replay: ")]
    assert len(paths) == 8 and all(path.parent.parent == results / "replays" for path in paths)
    assert {path.parent.name.rpartition("_")[2] for path in paths} == {"1-1", "1-2", "2-1", "2-2"}
    header, *steps, _ = [json.loads(line) for line in paths[2].read_text().splitlines()]
    assert header["algorithm"] == {"name": "1 vdn and 2 ippo"} and len(steps) == 3
    cells = cells_of(tmp_path / "m")
    assert crossed(capsys, *words[:6], "--out", tmp_path / "plain")[0] == 0
    assert cells_of(tmp_path / "plain") == cells


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["1"], "--cross needs from 2 to 100 runs; there are 1."),
        (["1", "99"], "There is no run '99'"),
        (["1", "2@7"], "has no model of step 7 in models. It has those of"),
        (["1", "4"], "was trained on env=matrix, and"),
        (["4", "5"], "has env_args.episode_limit=1, and"),
        (["1", "2", "--first=2"], "--first=2: of 2 agents the row's model plays from 1 to 1."),
        (["1", "2", "--restart"], "--cross does not go with --restart."),
        (["1", "2", "--episodes=0"], "0 is not a whole number from 1"),
        (["1", "2", "with", "test_gredy=True"], "test_gredy"),
    ],
)
def test_what_cannot_cross_is_refused(results, capsys, tmp_path, words, message):
    at = words.index("with") if "with" in words else len(words)
    given = [*words[:at], "--results", results, "--out", tmp_path / "new", *words[at:]]
    code, shown = crossed(capsys, *given)
    assert code == 2 and message in shown.err and "Traceback" not in shown.err
    assert not (tmp_path / "new").exists()


def test_options_of_crosses_need_one(capsys):
    assert door.main(["Xor", "--episodes", "3"]) == 2
    assert "--episodes needs --cross RUN RUN." in capsys.readouterr().err


def test_a_folder_with_files_is_left_alone(results, capsys, tmp_path):
    (tmp_path / "mine").write_text("")
    code, shown = crossed(capsys, 1, 2, "--results", results, "--out", tmp_path)
    assert code == 2 and "it is there already" in shown.err
