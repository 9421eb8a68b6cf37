"""Importing the user's own modules, and those that not everyone has."""

import sys
from types import ModuleType

import pytest

from checks.plugins import import_plugins
from envs.contract.optional import require
from utils.config.user_modules import imported, not_imported
from utils.errors import ConfigError


class Lazy(ModuleType):
    """As torch's compiler is until it is asked for something."""

    def __getattr__(self, name):
        raise AssertionError(f"it loads, being asked for {name}")


def test_importing_a_file_loads_no_other_module(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "lazy_module", Lazy("lazy_module"))
    (tmp_path / "own_file.py").write_text("x = 1\n")
    assert imported("plugins", str(tmp_path / "own_file.py")).x == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("import no_such_thing.at_all\n", "the package 'no_such_thing', which is not installed. .*: pip install it"),
        ("from sys import no_such_name\n", r"which is installed and cannot be imported: ImportError: .*no_such_name"),
        ("\n1 / 0\n", r"cannot be imported: ZeroDivisionError: division by zero. To install it again: pip install it"),
    ],
)
def test_a_package_that_is_there_and_cannot_be_imported(tmp_path, monkeypatch, content, words):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "half_installed.py").write_text(content)
    with pytest.raises(ConfigError, match=rf"^env=x needs .*{words}"):
        require("half_installed", "env=x", "pip install it")


def test_a_module_that_fails_is_told_from_one_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_package" / "inner").mkdir(parents=True)
    (tmp_path / "own_package" / "__init__.py").write_text("")
    (tmp_path / "own_package" / "inner" / "__init__.py").write_text("import numpy\n\nimport no_such_thing\n")
    with pytest.raises(ConfigError, match=r"'own_package\.inner' failed at line 3: No module named 'no_such_thing'"):
        imported("plugins", "own_package.inner")
    with pytest.raises(ConfigError, match=r"No module named 'own_package\.other', neither installed nor in "):
        imported("plugins", "own_package.other")
    with pytest.raises(ConfigError, match=r"No module named 'own_pakage', neither .* Did you mean 'own_package'\?"):
        imported("plugins", "own_pakage")


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("import no_such_thing", "if it is a package, install it with: pip install no_such_thing$"),
        (
            "from smac.env import StarCraft2Env",
            r"oxwhirl/smac \(.* unrelated optimiser\): bash install_sc2.sh ",
        ),
        ("import modules.mixers.of_a_fork", "Muster has no such module, nor has the plugin. .*: their folder.$"),
    ],
)
def test_what_to_do_about_a_module_that_a_plugin_lacks(tmp_path, monkeypatch, line, remedy):
    (tmp_path / "lacking.py").write_text(f"{line}\n")
    with pytest.raises(ConfigError, match=rf"failed at line 1: No module named .*{remedy}") as refused:
        imported("plugins", f"{tmp_path}/lacking.py")
    assert ("pip install" in str(refused.value)) == ("no_such_thing" in line)


def test_a_folder_without_content_as_a_module_is_no_module(tmp_path, monkeypatch):
    """Python imports it: without an __init__.py, it is the part of a package that may have others elsewhere."""
    (tmp_path / "parts_of_a_fork" / "inner").mkdir(parents=True)
    (tmp_path / "parts_of_a_fork" / "inner" / "some.py").write_text("x = 1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=r"'parts_of_a_fork' is a folder without .*: parts_of_a_fork/$"):
        imported("plugins", "parts_of_a_fork")
    assert imported("plugins", "parts_of_a_fork.inner.some").x == 1
    with pytest.raises(ConfigError, match=r"""plugins=\[a, b/\]: it is not a list.*'plugins=\["a", "b/"\]'"""):
        import_plugins("[a, b/]")


def test_a_package_is_missing_for_a_while(tmp_path, monkeypatch):
    (tmp_path / "some_package_of_a_test.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with not_imported("some_package_of_a_test"), pytest.raises(ImportError):
        import some_package_of_a_test
    import some_package_of_a_test

    with not_imported("some_package_of_a_test"):
        import some_package_of_a_test  # noqa: F401
    assert sys.modules.pop("some_package_of_a_test")
