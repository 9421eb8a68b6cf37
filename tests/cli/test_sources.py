"""The source files in Sacred's record."""

from pathlib import Path

from sacred import dependencies

from cli.compose import compose_config
from cli.experiment import build_experiment
from unrecorded_sources import OF_THE_FOLDER

SOURCE = Path(__file__).resolve().parents[2] / "src"


def test_git_is_asked_once_for_all_source_files(monkeypatch):
    """Asking for each of them took seconds at every start."""
    asked = []

    def ask(filename, save_git_info):
        asked.append(filename)
        return "somewhere", "0123abcd", False

    monkeypatch.setattr(dependencies, "get_commit_if_possible", ask)
    monkeypatch.setitem(dependencies.source_discovery_strategies, "dir", OF_THE_FOLDER)
    experiment = build_experiment(compose_config("vdn", "two_step"))
    assert len(asked) == 1
    assert dependencies.get_commit_if_possible is ask
    assert len(experiment.sources) == len(list(SOURCE.rglob("*.py")))
    assert {source.commit for source in experiment.sources} == {"0123abcd"}
