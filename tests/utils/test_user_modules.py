"""Importing the user's own modules, and those that not everyone has."""

import sys
from types import ModuleType

import pytest

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


def test_a_package_is_missing_for_a_while(tmp_path, monkeypatch):
    (tmp_path / "some_package_of_a_test.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with not_imported("some_package_of_a_test"), pytest.raises(ImportError):
        import some_package_of_a_test
    import some_package_of_a_test

    with not_imported("some_package_of_a_test"):
        import some_package_of_a_test  # noqa: F401
    assert sys.modules.pop("some_package_of_a_test")
