"""One Chromium for all tests of a process: starting it and compiling the page's scripts costs seconds."""

import pytest

from replay_pages import chromium


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("chromium") / "profile") as driver:
        yield driver
