"""A checkpoint's config goes on with a run, but brings no code along."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from cli.experiment import _trusted
from utils.errors import ConfigError


def resumption(results, plugins):
    return SimpleNamespace(config={"plugins": plugins}, results=Path(results))


def test_plugins_among_the_results_are_not_imported(tmp_path):
    for plugin in (
        str(tmp_path / "results" / "runs" / "x" / "evil.py"),
        str(tmp_path / "a" / ".." / "results" / "e.py"),
    ):
        with pytest.raises(ConfigError, match="from where no code is taken"):
            _trusted(resumption(tmp_path / "results", [plugin]))


def test_other_plugins_are(tmp_path):
    for plugins in ([str(tmp_path / "mine.py")], ["some.module"], []):
        assert _trusted(resumption(tmp_path / "results", plugins)) == {"plugins": plugins}
