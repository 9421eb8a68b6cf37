"""What Sacred notes of the source files."""

from pathlib import Path

from sacred import dependencies

from cli.experiment import _experiment


def test_git_is_asked_once_for_all_source_files(monkeypatch):
    """Asking for each of them took seconds at every start."""
    asked = []

    def ask(filename, save_git_info):
        asked.append(filename)
        return "somewhere", "0123abcd", False

    monkeypatch.setattr(dependencies, "get_commit_if_possible", ask)
    experiment = _experiment()
    assert len(asked) == 1
    assert dependencies.get_commit_if_possible is ask
    assert len(experiment.sources) == len(list(Path("src").rglob("*.py")))
    assert {source.commit for source in experiment.sources} == {"0123abcd"}
