"""The source files, the packages and the commit in Sacred's record."""

from importlib.metadata import version
from pathlib import Path

from sacred import dependencies

from cli.compose import compose_config
from cli.experiment import build_experiment
from quicker_runs import OF_THE_FOLDER
from records.installed_packages import installed_packages

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
    info = experiment.get_experiment_info()
    assert info["repositories"] == [{"url": "somewhere", "commit": "0123abcd", "dirty": False}]
    assert info["mainfile"] == "main.py"


def test_a_record_names_every_installed_package_with_its_version():
    """Sacred named numpy and itself only, because all others are imported after the experiment is made."""
    recorded = dict(
        line.split("==")
        for line in build_experiment(compose_config("vdn", "two_step")).get_experiment_info()["dependencies"]
    )
    for name in ("torch", "numpy", "sacred", "PyYAML", "tensorboard-logger", "cloudpickle", "pytest"):
        assert recorded[name] == version(name)


def test_a_package_is_listed_once_under_its_own_name(tmp_path, monkeypatch):
    """The first of those on the path, which is the one that is imported; a folder without a version is left out."""
    for place, name, number in (("first", "My_Games", "2.0"), ("second", "my-games", "1.0"), ("second", "Broken", "")):
        folder = tmp_path / place / f"{name.lower()}-{number or 0}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n\nVersion: 9\n")
    monkeypatch.setattr("sys.path", [str(tmp_path / "first"), str(tmp_path / "second")])
    assert installed_packages.__wrapped__() == ("My_Games==2.0",)
