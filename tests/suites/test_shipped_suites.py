"""The suites that come with Muster: every run would start, where its game and packages are."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from cli.arguments import parse_arguments
from cli.experiment import run_experiment
from standins import ROOT
from suites.command.runs import checked_runs, checked_search, is_current
from suites.plan.expansion import expanded
from suites.plan.suite_file import read_suite, suite_names, suite_path
from utils.config.merging import config_path
from utils.files.yaml_files import load_yaml

pytestmark = pytest.mark.slow

COUNTS = {
    "paper_smac": 23 * 7 * 5,
    "skirmish_quick": 3 * 2 * 3,
    "skirmish_data": 3 * 3,
    "skirmish_offline": (4 * 3 - 1) * 3,
    "skirmish_all_maps": 23,
    "skirmish_from_generalist": 23,
    "skirmish_hard": 2 * 10,
    "skirmish_mappo": 23,
    "skirmish_search": 4,  # of each trial
    "skirmish_units": 23,
    "league_kuhn": 3,
    "epymarl_benchmark": 9 * 20 * 5,
    "pymarlzoo_benchmark": 18 * 8 * 5,
    "muster_benchmark": (6 * 12 - 1) * 3,
    "muster_rware_20m": 3,
    "epymarl_rware_20m": 2,
    "epymarl_matrix_2m": 5 * 2,
}


@pytest.fixture
def skirmish_data(tmp_path, monkeypatch):
    """The names of the suite `skirmish_data`, of a few battles each."""
    monkeypatch.chdir(tmp_path)
    for place in expanded(read_suite(suite_path("skirmish_data"))):
        folder = Path(place.settings["record_data"])
        if not (first := Path("first", place.map)).exists():
            words = f"env_args.map_name={place.map} t_max=1 test_nepisode=1 save_model=False record_data={first}"
            command = f"--config={place.algorithm} --env-config={place.environment} with batch_size_run=4 {words}"
            run_experiment(parse_arguments(command.split()))
        shutil.copytree(first, folder)


@pytest.mark.parametrize("name", suite_names())
def test_its_runs_are_checked(name, tmp_path, request):
    if name == "skirmish_offline":
        request.getfixturevalue("skirmish_data")
    path = suite_path(name)
    suite = read_suite(path)
    assert suite.description
    if suite.learning:
        assert len(checked_search(suite, suite.learning)) == COUNTS[name]
        return
    assert len(expanded(suite)) == COUNTS[name]
    if name == "paper_smac":  # the same without the game, and one seed, which makes no difference to what is checked
        path = tmp_path / "simulated.yaml"
        path.write_text(
            suite.path.read_text()
            .replace("environments: sc2", "environments: skirmish")
            .replace("seeds: 5", "seeds: 1")
        )
        suite = read_suite(path)
    runs = checked_runs(suite)
    assert len({run.id for run in runs}) == len(runs) == len(expanded(suite))
    # the words of a run give the config that its id is a hash of
    assert is_current(runs[0]) and is_current(runs[-1])


def test_ppo_makes_fewer_epochs_on_hard_maps():
    settings = {(p.algorithm, p.map): p.settings for p in expanded(read_suite(suite_path("paper_smac")))}
    assert settings["mappo_smac", "5m_vs_6m"] == {"t_max": 2050000, "epochs": 10, "eps_clip": 0.05}
    assert settings["ippo_smac", "corridor"]["epochs"] == 5
    assert settings["qmix_smac", "corridor"] == settings["mappo_smac", "3m"] == {"t_max": 2050000}


@pytest.mark.parametrize(
    "preset, algorithm, task",
    [
        ("ippo_lbf", "ippo", "lbforaging:Foraging-15x15-3p-5f-v3"),
        ("mappo_mpe", "mappo", "pz-mpe-simple-spread-v3"),
    ],
)
def test_presets_of_families_are_what_the_benchmark_runs(preset, algorithm, task):
    settings = {(p.algorithm, p.map): p.settings for p in expanded(read_suite(suite_path("muster_benchmark")))}
    run = {**load_yaml(config_path(algorithm, "algs")), **settings[algorithm, task]}
    own = load_yaml(config_path(preset, "algs"))
    assert {key: run[key] for key in own if key != "name"} == {key: own[key] for key in own if key != "name"}


def test_the_files_of_the_page_are_ones(tmp_path):
    page = (ROOT / "docs" / "suites.md").read_text()
    suite, search, learning, *others, slurm, cluster = re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S)
    (workers,) = yaml.safe_load(cluster)["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    assert workers["template"]["spec"]["volumes"][0]["name"] == "results"
    path = tmp_path / "rates.yaml"
    path.write_text(suite.replace("seeds: 5", "seeds: 1"))
    runs = checked_runs(read_suite(path))
    # two algorithms on two maps, without one of the four, with two pairs of overrides
    assert len(runs) == 3 * 2 and all("absolute_metric=True" in run.words for run in runs)
    assert runs[0].id.startswith("qmix_smac+low+narrow-3m-s1-")
    path.write_text(path.read_text() + search)
    runs = checked_runs(read_suite(path))
    assert not any("absolute_metric=True" in run.words for run in runs)
    assert len(runs) == 3 * 2 * 20 and runs[19].id.startswith("qmix_smac+low+narrow+t20-3m-s1-")
    path.write_text("algorithms: qmix\nenvironments: two_step\n" + slurm)
    assert read_suite(path).resources["shell"] == ["module load cuda", "source site.sh"]
    path.write_text(suite.replace("seeds: 5", "seeds: 1") + learning)
    suite = read_suite(path)
    assert suite.learning and len(checked_search(suite, suite.learning)) == 3 * 2
    assert len(others) == 2
    for one in others:  # per_minute, pbt
        path.write_text("algorithms: ippo\nenvironments: two_step\n" + one)
        suite = read_suite(path)
        assert suite.learning and len(checked_search(suite, suite.learning)) == 1
