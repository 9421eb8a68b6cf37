"""Settings of the run browser's tests."""

from importlib.util import find_spec

import pytest

if find_spec("dash") is None:  # the page's packages are not installed
    collect_ignore = ["page", "test_cautions.py", "test_plain_sacred.py"]


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """What was read of results folders is kept apart from the user's own cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
