"""A game that fails: in every state of the link, and when it was started here; the next race works."""

import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from envs.trackmania import game as game_of_a_port
from envs.trackmania import launching
from envs.trackmania.launching import GameProcess
from envs.trackmania.reaper import VARIABLE, processes_of
from processes import all_end, is_running
from trackmania_game import server
from trackmania_game.examples import PATHS, free_port
from trackmania_game.faults import STATES
from utils.errors import MusterError
from waiting import comes_true

pytestmark = pytest.mark.slow


def step(env):
    return env.step({"actions": np.array([0])})


def drive(env, most=120):
    """Steps until the race ends; the info and the two ends."""
    env.reset()
    for _ in range(most):
        _, terminated, truncated, info = step(env)
        if terminated or truncated:
            return terminated, truncated, info
    raise AssertionError("the race does not end")


@pytest.mark.parametrize("do", ["close", "silence", "half", "garbage"])
@pytest.mark.parametrize(("at", "number"), STATES)
def test_after_a_fault_in_any_state_the_next_race_works(stand_in, make_env, at, number, do):
    game = stand_in(at=at, number=number, do=do, finish_at=700)
    env = make_env(game, view="both", game_timeout=1.5, launch_timeout=2.0)
    ends = [drive(env) for _ in range(3)]
    assert ends[-1][0] and not ends[-1][1]
    crashed = [info.get("crashed", False) for *_, info in ends]
    assert env.restarts == game.connections - 1 == 1
    # a race is lost unless the fault was at its start, which is tried again
    assert sum(crashed) <= 1
    for terminated, truncated, info in ends:
        assert terminated != truncated == info.get("crashed", False)
        assert ("race_finished" in info) == terminated


def test_states_of_another_version_stop_the_run(stand_in, make_env):
    env = make_env(stand_in(flags=0x1FF), max_restarts=2)
    with pytest.raises(MusterError, match=r"crashed on A, 3 in a row .*flags 0x1ff: this is not TMInterface 2.1"):
        env.reset()


def test_a_second_echo_is_never_sent(stand_in, make_env):
    game = stand_in(at="run_step", number=70, echo_twice=True)
    env = make_env(game, game_timeout=0.3)
    assert drive(env) == (False, True, {"crashed": True, "map": "A"})
    assert drive(env)[0]
    assert env.get_stats() == {"restarts": 1}


def test_a_game_that_listens_late_and_greets_late_is_waited_for(stand_in, make_env):
    begun = time.monotonic()
    env = make_env(stand_in(listen_after=0.6, greet_after=0.6), game_timeout=0.3)
    env.reset()
    assert time.monotonic() - begun > 1.2
    assert env.restarts == 0


def test_without_a_game_the_message_says_what_to_start_and_where_to_look(make_env, caplog, monkeypatch):
    """And soon: it is not tried as often as a game is that has crashed."""
    monkeypatch.setattr(game_of_a_port, "FIRST_WORD", 0.1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        env = make_env(port=port, launch_timeout=0.4, max_restarts=5)
        begun = time.monotonic()
        with pytest.raises(MusterError) as stopped:
            env.reset()
    assert time.monotonic() - begun < 2
    start = "Start the game, or set env_args.launch"
    assert str(stopped.value).startswith(f"TrackMania is not running: nothing accepts a connection on port {port}")
    assert start in str(stopped.value) and "plugin is not loaded" in str(stopped.value)
    assert "crashed" not in str(stopped.value) + caplog.text
    assert f"Waiting for TrackMania on port {port}, for at most 0.4 seconds. {start}" in caplog.text


def test_a_game_that_has_gone_may_be_started_again_by_hand(stand_in, make_env, caplog):
    env = make_env(stand_in(at="run_step", number=60, do="close"), launch_timeout=0.3, max_restarts=2)
    assert drive(env)[2]["crashed"]
    env.options.port = free_port()  # where nobody listens
    with pytest.raises(MusterError, match=r"TrackMania does not answer, 3 times in a row .*Start the game"):
        env.reset()
    assert "TrackMania has crashed on A, 1 in a row" in caplog.text
    assert "TrackMania does not answer, 2 times in a row" in caplog.text


def test_a_client_that_is_too_slow_is_dropped_and_connects_again(stand_in, make_env, monkeypatch):
    monkeypatch.setattr(server, "FIRST_TIMEOUT", 300)
    game = stand_in()
    env = make_env(game, turn_timeout=1.0)
    env.reset()
    assert game.timeout == 1000
    time.sleep(1.3)
    _, terminated, truncated, info = step(env)
    assert (terminated, truncated, info["crashed"]) == (False, True, True)
    assert (game.expired, game.timeout) == (1, 300)
    assert drive(env)[0]
    assert game.connections == 2


# games that are started here


def pids(tmp_path):
    return [int(pid) for pid in (tmp_path / "pids").read_text().split()]


@pytest.mark.parametrize("stays", [False, True])
def test_a_game_that_is_started_here_is_ended_with_its_environment(make_env, launcher, tmp_path, stays):
    mark = str(tmp_path)
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], env={**os.environ, VARIABLE: mark})
    env = make_env(**launcher(stays))
    assert drive(env)[0]
    (pid,) = pids(tmp_path)
    reaper = env._game._process._reaper.pid
    assert is_running(pid) and is_running(reaper)
    env.close()
    env.close()
    assert not is_running(pid) and not is_running(reaper) and is_running(other.pid)
    assert processes_of(mark) == [other.pid]
    other.kill()
    other.wait()


@pytest.mark.parametrize(("at", "number"), [("connected", 1), ("run_step", 60), ("frame", 5), ("get_state", 8)])
def test_a_game_that_dies_is_started_again(make_env, launcher, tmp_path, at, number):
    once = str(tmp_path / "happened")
    env = make_env(**launcher(at=at, number=number, do="kill", once=once), view="both", game_timeout=5.0)
    ends = [drive(env) for _ in range(2)]
    assert ends[-1][0]
    assert env.restarts == 1 and len(pids(tmp_path)) == 2
    assert all_end(pids(tmp_path)[:1])


def test_a_game_that_hangs_twice_is_ended_and_started_again(make_env, launcher, tmp_path):
    env = make_env(**launcher(), game_timeout=5.0)
    env.reset()
    os.kill(pids(tmp_path)[0], signal.SIGSTOP)
    env._game.link.timeout = 0.3
    assert step(env)[3]["crashed"]
    env._game.options.launch_timeout = 1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(env._game, "connect", patient(env))
        assert drive(env)[0]
    assert len(pids(tmp_path)) == 2 and all_end(pids(tmp_path)[:1])


def patient(env):
    """Short waits for the game that hangs, and long ones for the one that starts."""
    connect, tried = env._game.connect, []

    def connecting():
        tried.append(1)
        env._game.options.launch_timeout = 1.0 if len(tried) == 1 else 30.0
        connect()

    return connecting


LARGE = """
import os, socket, sys, time
if os.fork():
    os._exit(0)
memory = bytearray(b"x") * (400 << 20)
listener = socket.socket()
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen()
time.sleep(60)
"""


def test_a_game_that_is_ended_has_left_its_port(tmp_path):
    """It takes a while to give its memory back, and accepts connections until then."""
    (tmp_path / "game.py").write_text(LARGE)
    port = free_port()
    game = GameProcess(f"{sys.executable} {tmp_path / 'game.py'} {{port}}", port)
    assert comes_true(lambda: accepts(port), 20) and game.alive
    game.kill()
    assert not game.alive and not accepts(port)


def accepts(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_a_command_that_does_not_exist_is_an_error(make_env):
    with pytest.raises(MusterError, match=r"nothing_like_it .* cannot be started"):
        make_env(launch="nothing_like_it {port}").reset()


def test_a_launcher_that_ends_without_a_game_is_a_fault(make_env):
    env = make_env(launch="true {port}", port=free_port(), max_restarts=0)
    with pytest.raises(MusterError, match="ended before it accepted a connection: true"):
        env.reset()


HOLD = """
import sys, time
from envs.trackmania.launching import GameProcess
game = GameProcess(f"{sys.executable} -c 'import time; time.sleep(60)' {{port}}", 1234)
print(game._launcher.pid, flush=True)
time.sleep(60)
"""


def test_a_game_ends_with_a_run_that_is_killed():
    holder = subprocess.Popen([sys.executable, "-c", HOLD], env={**os.environ, "PYTHONPATH": PATHS}, stdout=-1)
    pid = int(holder.stdout.readline())
    assert is_running(pid)
    holder.kill()
    holder.wait()
    assert all_end([pid])


TURNS = """
import sys, time
from envs.trackmania.launching import StartLock
lock = StartLock()
lock.acquire()
begun = time.time()
time.sleep(0.3)
print(begun, time.time())
lock.release()
"""


@pytest.mark.skipif(launching.fcntl is None, reason="files cannot be locked here")
def test_games_start_one_after_another():
    starters = [
        subprocess.Popen([sys.executable, "-c", TURNS], env={**os.environ, "PYTHONPATH": PATHS}, stdout=-1)
        for _ in range(2)
    ]
    first, second = sorted(tuple(map(float, starter.communicate()[0].split())) for starter in starters)
    assert first[1] <= second[0]
