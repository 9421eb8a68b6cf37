"""browse.py as a user types it."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("dash", reason="the run browser's packages are not installed")

from browse import main
from browser.page.server.arguments import is_loopback, parse_arguments
from browser.page.server.serving import listen
from browser_folders import write_seeds
from utils.errors import ConfigError

pytestmark = pytest.mark.slow

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
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
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
    environment = {**os.environ, "XDG_CACHE_HOME": str(results.parent / "cache")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
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
