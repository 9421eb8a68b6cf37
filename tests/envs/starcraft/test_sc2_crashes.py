"""Crashes of the game, by the contract of `StarCraftEnv`, with a made-up environment that keeps books as smac does."""

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from envs.starcraft.environment import StarCraftEnv
from envs.starcraft.launching import GameFolder
from processes import is_running
from utils.errors import MusterError
from waiting import comes_true

pytestmark = pytest.mark.slow

SRC = str(Path(__file__).resolve().parents[3] / "src")


class Lost(Exception):
    """pysc2's `ConnectionError`."""


class TimedOut(Exception):
    """The exception of a game that does not answer in time, before pysc2 makes a `ConnectionError` of it."""


class Smac:
    """Episodes of two steps; `faults` are the numbers of the requests (launch, observe, step) that fail."""

    map_name, n_agents, episode_limit, n_enemies = "3m", 3, 60, 3

    def __init__(self, faults=(), hangs=False):
        self.hangs = hangs
        self.faults, self.requests, self.launches = set(faults), 0, 0
        self.max_reward, self._episode_count, self.force_restarts, self.battles_game = 230, 0, 0, 0
        self._sc2_proc = None

    def _request(self):
        self.requests += 1
        if self.requests in self.faults:
            try:
                raise TimedOut if self.hangs else Lost("closed")
            except TimedOut:
                raise Lost("Websocket timed out.")  # noqa: B904 (as pysc2 does)

    def _launch(self):
        self.launches += 1
        self._sc2_proc = self
        self._request()

    def reset(self):
        self.steps = 0
        if self._episode_count == 0:
            self._launch()
        try:
            self._request()
        except Lost:
            self.full_restart()
        if self._episode_count == 0:
            self.max_reward += 135
        return "begun"

    def step(self, actions):
        try:
            self._request()
        except Lost:
            self.full_restart()
            return 0, True, {}
        self.steps += 1
        if self.steps < 2:
            return 1.0, False, {"battle_won": False}
        self._episode_count += 1
        self.battles_game += 1
        return 1.0, True, {"battle_won": True}

    def close(self):  # its process's
        pass

    def get_stats(self):
        return {"battles_game": self.battles_game, "restarts": self.force_restarts}


@pytest.fixture(autouse=True)
def pysc2(monkeypatch):
    """The modules whose errors and flag are used."""
    for name in ("absl", "pysc2", "pysc2.lib", "websocket"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    absl, lib = sys.modules["absl"], sys.modules["pysc2.lib"]
    absl.flags = ModuleType("flags")
    absl.flags.FLAGS = ModuleType("FLAGS")
    sys.modules["websocket"].WebSocketException = Lost
    sys.modules["websocket"].WebSocketTimeoutException = TimedOut
    errors = ("protocol.ProtocolError", "protocol.ConnectionError", "remote_controller.ConnectError")
    errors += ("remote_controller.RequestError", "sc_process.SC2LaunchError")
    for error in errors:
        module, name = error.split(".")
        if not hasattr(lib, module):
            setattr(lib, module, ModuleType(module))
        setattr(getattr(lib, module), name, type(name, (Lost if "Protocol" in name else Exception,), {}))
    lib.protocol.ConnectionError = Lost
    return sys.modules


def play(env, episodes):
    infos = []
    for _ in range(episodes):
        env.reset()
        ended = False
        while not ended:
            _, ended, info = env.step([1])
        infos.append(info)
    return infos


@pytest.fixture
def make():
    made = []

    def make(faults=(), max_restarts=5, hangs=False):
        made.append(StarCraftEnv(Smac(faults, hangs), max_restarts=max_restarts, game_timeout=7))
        return made[-1]

    yield make
    for env in made:
        env.close()


def test_without_faults_nothing_is_added(make, pysc2):
    env = make()
    assert play(env, 3) == [{"battle_won": True}] * 3
    assert (env.launches, env.max_reward, env.force_restarts) == (1, 365, 0)
    assert pysc2["absl"].flags.FLAGS.sc2_timeout == 7


# requests: 1 launch, 2 observe, 3 and 4 the steps of the first episode, 5 observe, 6 and 7 the steps of the second
@pytest.mark.parametrize("fault", [3, 4, 6, 7])
def test_an_episode_whose_game_crashes_is_a_truncated_one(make, fault):
    env = make([fault])
    infos = play(env, 3)
    assert infos.count({"crashed": True, "episode_limit": True}) == 1
    assert infos.count({"battle_won": True}) == 2
    assert (env.launches, env.max_reward, env.force_restarts) == (2, 365, 1)
    assert env.get_stats() == {"battles_game": 2, "restarts": 1}


@pytest.mark.parametrize("fault", [1, 2, 5])
def test_a_crash_between_episodes_costs_none(make, fault):
    env = make([fault])
    assert play(env, 3) == [{"battle_won": True}] * 3
    assert (env.launches, env.max_reward, env.force_restarts) == (2, 365, 1)


def test_crashes_in_a_row_are_bounded(make):
    env = make(range(3, 100), max_restarts=3)
    with pytest.raises(MusterError, match=r"crashed on 3m, 4 in a row \(env_args.max_restarts=3\)"):
        play(env, 9)
    env = make([3, 6, 9, 16], max_restarts=1)  # 3 and 6 are in a row, but for a finished episode
    with pytest.raises(MusterError, match="2 in a row"):
        play(env, 9)


@pytest.mark.parametrize("fault", [1, 3])
def test_a_hang_is_reported_as_one(make, caplog, fault):
    play(make([fault], hangs=True), 2)
    assert "crashed on 3m, 1 in a row: it hangs: no reply for 7 seconds (env_args.game_timeout)." in caplog.text
    caplog.clear()
    play(make([fault]), 2)
    assert "crashed on 3m, 1 in a row: no connection to the game: closed." in caplog.text


def test_statistics_before_the_first_battle(make):
    assert make().get_stats()["win_rate"] == 0


HOLD = """
import subprocess, sys, time
from envs.starcraft.launching import GameFolder
folder = GameFolder()
with folder.launching():
    import tempfile
    print(tempfile.mkdtemp(prefix="sc-"))
game = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "-tempDir", str(folder.path) + "/"])
print(folder.path, game.pid, flush=True)
time.sleep(60)
"""


def test_the_folder_and_its_processes_end_with_their_process():
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD], env={**os.environ, "PYTHONPATH": SRC}, stdout=subprocess.PIPE, text=True
    )
    inside = Path(holder.stdout.readline().strip())
    folder, pid = holder.stdout.readline().split()
    assert inside.parent == Path(folder)
    assert inside.is_dir()
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert comes_true(lambda: not Path(folder).exists() and not is_running(int(pid))), "still there"


def test_a_folder_that_is_closed_is_gone_and_closing_twice_does_no_harm():
    folder = GameFolder()
    assert folder.path.is_dir()
    folder.close()
    folder.close()
    assert not folder.path.exists()


TURNS = """
import time
from envs.starcraft.launching import GameFolder
folder = GameFolder()
with folder.launching():
    begun = time.time()
    time.sleep(0.3)
    print(begun, time.time())
folder.close()
"""


def test_games_start_one_after_another():
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", TURNS], env={**os.environ, "PYTHONPATH": SRC}, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    turns = sorted(tuple(map(float, starter.communicate()[0].split())) for starter in starters)
    assert len(turns) == 3
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(turns))
