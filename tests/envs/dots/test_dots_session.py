"""Sessions against the stand-in, which compares every byte of every turn; and its faults."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import dots_standin
import dots_turns
from dots_simulator.channels import framed, unframed
from envs.dots.faults import SimulatorFault
from envs.dots.places import Place
from envs.dots.process import SimulatorProcess
from envs.dots.protocol_0 import Session0
from envs.dots.protocol_0_3_2 import Session032
from waiting import comes_true

pytestmark = pytest.mark.slow

STANDIN = Path(dots_standin.__file__)
RED = {"name": "Red?team=0", "n": 5, "obs": [[3], [2, 2, 3]], "continuous": 2, "branches": [3, 2]}
BLUE = {"name": "Blue", "n": 3, "obs": [[4, 2]], "continuous": 0, "branches": [4], "from": 3, "may_be_silent": True}
LATE = {"name": "Late", "n": 2, "obs": [], "continuous": 1, "branches": [], "from": 7}
GREEN = {"name": "Green", "n": 8, "show": 4, "obs": [[3], [2, 2]], "continuous": 2, "branches": []}
GREY = {"name": "Grey", "n": 6, "show": 3, "obs": [[2]], "continuous": 0, "branches": [3, 2], "from": 4}
SESSIONS = {"0.3.2": Session032, "0": Session0}


OPEN = []


class Play:
    """A session with the stand-in."""

    def __init__(self, folder, scenario, seconds=20.0):
        self.scenario = scenario
        file = folder / "scenario.json"
        file.write_text(json.dumps(scenario))
        place = Place(folder / "memory")
        OPEN.append(self)
        self.session = SESSIONS[scenario.get("protocol", "0.3.2")](place, seconds)
        try:
            self.session.process = SimulatorProcess(STANDIN, [str(file)], str(place.path), place)
            self.session.attach(seconds)
        except SimulatorFault:
            self.session.close()
            raise
        self.turn = 0
        # by group: the frame it shows next
        self.frames = {group["name"]: group.get("from", 0) for group in scenario["groups"]}

    def exchange(self, **how):
        """A turn of ours, and the simulator's."""
        body = dots_turns.from_trainer(self.turn, self.scenario.get("answer", 0))
        self.session.give(b"" if body is None else framed([(CHANNEL, body)]), **how)
        payload = self.session.take()
        self.turn += 1
        assert payload == dots_turns.from_simulator(self.turn, self.scenario.get("message", 0))
        # files that bigger ones have replaced are gone
        first = self.session.path
        files = [path.name for path in first.parent.iterdir() if path.name.strip("_") == first.name]
        assert len(files) == (1 if self.session.protocol == "0" else 2), files
        assert all(channel == CHANNEL for channel, _ in unframed(payload))

    def check_and_act(self):
        """Compare what one group shows with what the stand-in wrote; give it its actions. Returns its name."""
        shown = [name for name, group in self.session.groups.items() if group.asking or group.ended]
        assert len(shown) == 1
        group = next(one for one in self.scenario["groups"] if one["name"] == shown[0])
        frame = self.frames[group["name"]]
        asking, ended = dots_turns.rows(frame, group)
        while not asking and not ended:  # silent
            frame += 1
            asking, ended = dots_turns.rows(frame, group)
        seen = self.session.groups[shown[0]]
        old = self.scenario.get("protocol") == "0"
        for agents, found, last in (
            (asking, seen.decisions(), None if old or not group["branches"] else "mask"),
            (ended, seen.endings(), "interrupted"),
        ):
            assert len(found) == len(agents)
            for i, obs in enumerate(found.obs):
                assert obs.dtype == np.float32 and obs.shape == (len(agents), *group["obs"][i])
                assert [one.ravel().tolist() for one in obs] == [agent[0][i] for agent in agents]
            assert found.reward.tolist() == [agent[1] for agent in agents]
            assert found.agent_id.tolist() == [agent[2] for agent in agents]
            if last and agents:
                assert getattr(found, last).tolist() == [
                    [bool(x) for x in agent[3]] if last == "mask" else bool(agent[3]) for agent in agents
                ]
        floats, choices = dots_turns.actions(frame, group, len(asking))
        seen.act(
            np.reshape(floats, (len(asking), group["continuous"])) if group["continuous"] else None,
            np.reshape(choices, (len(asking), len(group["branches"]))) if group["branches"] else None,
        )
        self.frames[group["name"]] = frame + 1
        return group["name"]


CHANNEL = unframed(dots_turns.GUID + bytes(4))[0][0]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "memory").mkdir()
    yield tmp_path
    for play in OPEN:
        play.session.close()
    OPEN.clear()
    assert os.listdir(tmp_path / "memory") == []


@pytest.mark.parametrize("messages", [0, 40])
@pytest.mark.parametrize("protocol, sealed", [("0.3.2", False), ("0.3.2", True), ("0", False)])
def test_every_byte_of_every_turn_is_as_the_facts_say(folder, protocol, sealed, messages):
    groups = [RED, BLUE, LATE] if protocol == "0.3.2" else [GREEN, GREY]
    scenario = {"protocol": protocol, "groups": groups, "message": messages, "answer": 3 * messages, "sealed": sealed}
    play = Play(folder, scenario)
    session = play.session
    play.exchange(reset=True)
    names = []
    for _ in range(60):
        names.append(play.check_and_act())
        play.exchange()
    assert set(names) == {group["name"] for group in groups}
    assert not session.wakes
    log = session.place.log.read_text()
    assert log.count("reset") == 1 and "not" not in log
    session.close()
    assert not session.process.alive


@pytest.mark.parametrize("sealed", [False, True])
def test_a_query_exchanges_side_channels_and_keeps_the_rows(folder, sealed):
    play = Play(folder, {"groups": [RED], "message": 30, "answer": 30, "sealed": sealed})
    play.exchange(reset=True)
    for _ in range(10):
        before = play.session.groups[RED["name"]].decisions()
        play.exchange(query=True)
        play.exchange(query=True)
        after = play.session.groups[RED["name"]].decisions()
        assert after.agent_id.tolist() == before.agent_id.tolist()
        play.check_and_act()
        play.exchange()
    play.session.close()


FAULTS = {
    "exit": r"ended answering a step: exit code 3 (.|\n)*\n  stand-in: exit in frame 2",
    "crash": r"ended answering a step: killed by SIGABRT",
    "close": r"has closed; it has ended: exit code 0",
    "sizes": r"groups have 2147483647 bytes after|data file has number",
    "twice": r"two groups are called 'Red\?team=0'",
    "too_many": r"6 agents that ask and \d have|6 agents that ask and \d that have ended in 'Red\?team=0'",
    "half": r"ended answering a step: exit code 4",
}


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_noticed_within_a_second_and_reported_with_its_end(folder, kind, sealed):
    play = Play(folder, {"groups": [RED], "faults": [[2, kind]], "sealed": sealed})
    play.exchange(reset=True)
    play.check_and_act()
    play.exchange()
    play.check_and_act()
    begun = time.monotonic()
    try:
        with pytest.raises(SimulatorFault, match="(?i)" + FAULTS[kind]):
            play.exchange()
            raise AssertionError(play.session.groups)
        assert time.monotonic() - begun < 3  # a second where there is time for it; the time-out is 20
    finally:
        play.session.close()


def test_a_simulator_that_hangs_is_killed_after_the_timeout(folder):
    play = Play(folder, {"groups": [RED], "faults": [[1, "hang"]]}, seconds=0.5)
    play.exchange(reset=True)
    play.check_and_act()
    begun = time.monotonic()
    with pytest.raises(SimulatorFault, match=r"hangs answering a step: no answer for 0.5 seconds; it was killed"):
        play.exchange()
    assert 0.4 < time.monotonic() - begun < 5
    play.session.close()


def test_another_version_is_named(folder):
    with pytest.raises(SimulatorFault, match=r"speaks version 0\.3\.1 of the protocol, this trainer 0\.3\.2"):
        Play(folder, {"groups": [RED], "version": [0, 3, 1]})


def test_a_second_trainer_on_one_file_is_refused(folder):
    from utils.errors import MusterError

    first = Place(folder / "memory", "default")
    with pytest.raises(MusterError, match=f"Another trainer, process {os.getpid()}, uses"):
        Place(folder / "memory", "default")
    first.free()
    Place(folder / "memory", "default").free()


TRAINER = """
import sys, os, time
sys.path[:0] = {paths}
import test_dots_session as t
from pathlib import Path
play = t.Play(Path({folder!r}), {{"groups": [t.RED], "faults": [[1, "hang"]], "sealed": {sealed}}})
play.exchange(reset=True)
play.check_and_act()
play.session.give()  # it does not look at its parent any more
time.sleep(0.1)
print(play.session.process.pid, flush=True)
time.sleep(100)
"""


@pytest.mark.parametrize("sealed", [False, True])
def test_nothing_remains_of_a_trainer_that_is_killed(folder, sealed):
    paths = [str(Path(__file__).parent), *sys.path]
    trainer = subprocess.Popen(
        [sys.executable, "-c", TRAINER.format(paths=paths, folder=str(folder), sealed=sealed)],
        stdout=subprocess.PIPE,
        text=True,
    )
    pid = int(trainer.stdout.readline())
    assert len(os.listdir(folder / "memory")) >= 4
    links = [name for name in os.listdir(folder / "memory") if (folder / "memory" / name).is_symlink()]
    assert len(links) == 1 + sealed, "the header's, and the data file's"
    assert all((folder / "memory" / name).stat().st_mode & 0o777 == 0o600 for name in os.listdir(folder / "memory"))
    trainer.send_signal(signal.SIGKILL)
    trainer.wait()
    trainer.stdout.close()
    assert comes_true(lambda: not os.listdir(folder / "memory") and not Path(f"/proc/{pid}").exists())
