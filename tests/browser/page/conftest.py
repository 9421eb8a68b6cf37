"""Fixtures of the page in a browser."""

import pytest

from page_views import context_of
from replay_pages import as_new, chromium, page_over


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    """One Chromium for all tests of a process: starting it and compiling the page's scripts costs seconds."""
    with chromium(tmp_path_factory.mktemp("chromium") / "profile") as driver:
        yield driver


@pytest.fixture(scope="module")
def browser(driver):
    return as_new(driver)


@pytest.fixture(scope="module")
def page(results):
    """The address of the page over the module's results."""
    with page_over(results) as address:
        yield address


@pytest.fixture
def context(root):
    return context_of(root)
