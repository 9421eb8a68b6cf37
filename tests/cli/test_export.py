"""`--export=RUN`: the policy of a run as an ONNX file."""

import sys
from pathlib import Path

import pytest

from cli.arguments import parse_arguments
from cli.experiment import run_experiment
from main import main
from utils.errors import ConfigError


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "results"
    settings = f"t_max=60 test_interval=30 test_nepisode=1 batch_size=4 seed=3 name=walk local_results_path={folder}"
    run_experiment(parse_arguments(f"--config=vdn --env-config=two_step with {settings}".split()))
    return folder


@pytest.mark.slow
def test_the_file_lies_beside_the_models_and_nothing_is_recorded(results, capsys):
    onnx = pytest.importorskip("onnx")
    before = sorted(results.glob("sacred/*")), sorted(results.glob("runs/*"))
    assert main(["--export=latest", "--model=newest", "with", f"local_results_path={results}"]) == 0
    (models,) = (results / "models").iterdir()
    step = max(int(path.name) for path in models.iterdir() if path.name.isdecimal())
    path = models / f"policy-{step}.onnx"
    assert f"{path}: the policy after {step} steps, version 3 of ML-Agents' models\n" in capsys.readouterr().out
    assert [given.name for given in onnx.load(path).graph.input] == ["obs_0", "obs_1", "action_masks", "recurrent_in"]
    assert (sorted(results.glob("sacred/*")), sorted(results.glob("runs/*"))) == before
    # the run is still one that can be played
    assert main(["--evaluate=latest", "-u", "with", f"local_results_path={results}", "test_nepisode=1"]) == 0


@pytest.mark.slow
def test_the_file_goes_where_it_is_told(results, tmp_path, capsys):
    pytest.importorskip("onnx")
    words = ["--export", str(next((results / "models").iterdir())), f"--to={tmp_path / 'Walker.onnx'}"]
    assert main([*words, "with", "obs_last_action=True"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["Walker.onnx"]
    capsys.readouterr()
    assert main([*words, "--model-version=2"]) == 2
    assert "--model-version=2 has no place for a memory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--export=latest", "--model-version=4"], "--model-version=4: it must be 2 or 3."),
        (["--export=latest", "--to=walker.nn"], "--to=walker.nn: the name of the file must end in .onnx."),
        (["--export=latest", "--to=/nowhere/w.onnx"], "--to=/nowhere/w.onnx: there is no folder /nowhere."),
        (["--export=latest", "--validate"], "--validate is of new runs; --export starts none."),
        (["--export=latest"], "results has no run that trained."),
        (["--export=latest", "--evaluate=latest"], "--export does not go with --evaluate"),
        (["--evaluate=latest", "--greedy"], "--greedy needs --export=RUN: the run whose policy is written."),
        (["--model=best", "--config=qmix"], "--model needs --evaluate=RUN or --export=RUN"),
    ],
)
def test_refusals(words, message, tmp_path, monkeypatch, capsys):
    pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert message in capsys.readouterr().err
    assert not list(Path().iterdir())


def test_a_missing_package_is_named(monkeypatch):
    from experiment.onnx_export import require_onnx

    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ConfigError, match=r"--export needs the package 'onnx'.*pip install -r requirements-onnx\.txt"):
        require_onnx()
