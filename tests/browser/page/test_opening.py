"""src/watch.py finds the served page, or starts one."""

import urllib.request

import pytest

pytest.importorskip("dash", reason="the page's packages are not installed")

from browser.page.server import serving
from replay_pages import end, page_over, write_replay
from utils.errors import ConfigError

pytestmark = pytest.mark.slow


@pytest.fixture
def served(tmp_path):
    """(results folder, port) of a page that is served."""
    write_replay(tmp_path / "results", "walk", "1_0.jsonl")
    with page_over(tmp_path / "results") as address:
        yield tmp_path / "results", int(address.rpartition(":")[2])


def test_the_page_that_is_served_is_used(served, capsys, monkeypatch):
    results, port = served
    monkeypatch.setattr(serving, "find_or_start", lambda root: (port, None))
    shown = []
    serving.open_page(results, serving.replay_path("a b", "1&2.jsonl"), shown.append)
    assert shown == [f"http://127.0.0.1:{port}/replay?run=a%20b&file=1%262.jsonl"]
    assert shown[0] in capsys.readouterr().out


def test_a_page_over_another_folder_is_not(served, tmp_path):
    results, port = served
    assert serving.find_or_start(results, port) == (port, None)
    (tmp_path / "others").mkdir()
    assert not serving.serves(tmp_path / "others", port)
    other, server = serving.find_or_start(tmp_path / "others", port)
    server.close()
    assert other != port
    assert not serving.serves(results, other), "the server has gone"
    with pytest.raises(ConfigError, match="no results folder"):
        serving.find_or_start(tmp_path / "missing", port)


def test_a_page_that_is_started_serves_until_it_is_interrupted(tmp_path, monkeypatch):
    write_replay(tmp_path, "walk", "1_0.jsonl")
    port, server = serving.find_or_start(tmp_path, 0)
    monkeypatch.setattr(serving, "find_or_start", lambda root: (port, server))
    answers = []

    def show(address):
        with urllib.request.urlopen(address, timeout=10) as answer:
            answers.append(answer.status)
        end(server)

    serving.open_page(tmp_path, "/replay?run=walk", show)
    assert answers == [200]
    assert not serving.serves(tmp_path, port)
