"""src/watch.py finds the served page, or starts one."""

import threading
import urllib.request

import pytest

pytest.importorskip("dash", reason="the page's packages are not installed")

from browser.page.server import opening
from replay_pages import write_replay
from utils.errors import ConfigError

pytestmark = pytest.mark.slow


@pytest.fixture
def served(tmp_path):
    """(results folder, port) of a page that is served."""
    write_replay(tmp_path / "results", "walk", "1_0.jsonl")
    port, server = opening.find_or_start(tmp_path / "results", 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield tmp_path / "results", port
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_page_that_is_served_is_used(served, capsys, monkeypatch):
    results, port = served
    monkeypatch.setattr(opening, "PORT", port)
    monkeypatch.setattr(opening, "find_or_start", lambda root: (port, None))
    shown = []
    opening.open_page(results, opening.replay_path("a b", "1&2.jsonl"), shown.append)
    assert shown == [f"http://127.0.0.1:{port}/replay?run=a%20b&file=1%262.jsonl"]
    assert shown[0] in capsys.readouterr().out


def test_a_page_over_another_folder_is_not(served, tmp_path):
    results, port = served
    assert opening.find_or_start(results, port) == (port, None)
    (tmp_path / "others").mkdir()
    assert not opening.serves(tmp_path / "others", port)
    other, server = opening.find_or_start(tmp_path / "others", port)
    server.server_close()
    assert other != port
    assert not opening.serves(results, other), "the server has gone"
    with pytest.raises(ConfigError, match="no results folder"):
        opening.find_or_start(tmp_path / "missing", port)


def test_a_page_that_is_started_serves_until_it_is_interrupted(tmp_path, monkeypatch):
    write_replay(tmp_path, "walk", "1_0.jsonl")
    port, server = opening.find_or_start(tmp_path, 0)
    monkeypatch.setattr(opening, "find_or_start", lambda root: (port, server))
    answers = []

    def show(address):
        with urllib.request.urlopen(address, timeout=10) as answer:
            answers.append(answer.status)
        server.shutdown()

    opening.open_page(tmp_path, "/replay?run=walk", show)
    assert answers == [200]
    assert not opening.serves(tmp_path, port)
