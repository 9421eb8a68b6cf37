"""browse.py as a user types it, and watch.py, which finds its page or starts one."""

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from browse import main
from browser.page.server import serving
from browser.page.server.arguments import is_loopback, parse_arguments
from browser.page.server.serving import listen
from replay_pages import end, page_over, write_replay
from results_folders import write_seeds
from utils.errors import ConfigError

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_cache")]

BROWSE = Path(__file__).parents[3] / "src" / "browse.py"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "There is no results folder 'nowhere'"),
        (["--hosst", "x"], "Did you mean '--host'"),
        (["--port", "x"], "invalid int value"),
        (["--port", "70000"], "from 0 (any free one) to 65535"),
        (["--token", "short"], "at least 16 characters"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_missing_package_names_the_requirements(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "dash_ag_grid", None)
    assert main([]) == 2
    assert "pip install -r requirements-browser.txt" in capsys.readouterr().err


def test_the_next_free_port_is_taken():
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with listen("127.0.0.1", port) as second:
            assert port < second.getsockname()[1] < port + 20
    with pytest.raises(ConfigError):
        listen("203.0.113.1", 8050)


@pytest.mark.parametrize(
    ("host", "own"),
    [("localhost", True), ("127.9.9.9", True), ("::1", True), ("0.0.0.0", False), ("::", False), ("box", False)],
)
def test_addresses_that_no_other_machine_can_reach(host, own):
    assert is_loopback(host) is own


def test_the_usual_is_this_machine_and_reading():
    options = parse_arguments([])
    assert (options.host, options.write, options.token, options.open) == ("127.0.0.1", False, None, True)


def served(results, *words):
    command = [sys.executable, str(BROWSE), str(results), "--no-open", "--port", "0", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    printed = ""
    while "Ctrl-C" not in printed:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        printed += line
    return process, printed


def test_an_empty_folder_is_served_and_says_how_to_make_a_run(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "runs").symlink_to(tmp_path)
    process, printed = served(tmp_path / "results")
    code, errors = ended(process)
    assert "python src/main.py --config=qmix" in printed and "runs is a link, which is not followed" in printed
    assert (code, errors) == (0, "")


def ended(process):
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    return process.returncode, errors


@pytest.mark.parametrize("words", [[], ["--host", "0.0.0.0"]])
def test_it_serves_until_it_is_interrupted(words, tmp_path):
    write_seeds(tmp_path / "results", {"qmix": {"3m": [1.0]}})
    process, printed = served(tmp_path / "results", *words)
    try:
        address = re.search(r"http://\S+", printed)[0].replace(socket.gethostname(), "localhost")
        assert ("token=" in address) == ("Other machines can reach" in printed) == bool(words)
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert "Muster" in opener.open(address, timeout=120).read().decode()
        if words:
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(address.partition("?")[0], timeout=120)
    finally:
        code, errors = ended(process)
    assert (code, errors) == (0, "")


@pytest.fixture
def open_page(tmp_path):
    """(results folder, port) of a page that is served."""
    write_replay(tmp_path / "results", "walk", "1_0.jsonl")
    with page_over(tmp_path / "results") as address:
        yield tmp_path / "results", int(address.rpartition(":")[2])


def test_watch_uses_the_page_that_is_served(open_page, capsys, monkeypatch):
    results, port = open_page
    monkeypatch.setattr(serving, "find_or_start", lambda root: (port, None))
    shown = []
    serving.open_page(results, serving.replay_path("a b", "1&2.jsonl"), shown.append)
    assert shown == [f"http://127.0.0.1:{port}/replay?run=a%20b&file=1%262.jsonl"]
    assert shown[0] in capsys.readouterr().out


def test_watch_uses_no_page_over_another_folder(open_page, tmp_path):
    results, port = open_page
    assert serving.find_or_start(results, port) == (port, None)
    (tmp_path / "others").mkdir()
    assert not serving.serves(tmp_path / "others", port)
    other, server = serving.find_or_start(tmp_path / "others", port)
    server.close()
    assert other != port
    assert not serving.serves(results, other), "the server has gone"
    with pytest.raises(ConfigError, match="no results folder"):
        serving.find_or_start(tmp_path / "missing", port)


def test_watch_serves_a_page_of_its_own_until_it_is_interrupted(tmp_path, monkeypatch):
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
