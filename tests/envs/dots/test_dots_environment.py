"""DOTS simulators as environments: streams, masks, episodes, states, faults."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import dots_standin
from dots_simulator import parse_arguments
from envs.dots.connecting import Wanted, connect
from envs.dots.environment import DotsEnv
from envs.dots.faults import SimulatorFault
from envs.dots.options import Options
from envs.dots.streams import Streams
from utils.errors import ConfigError, MusterError

pytestmark = pytest.mark.slow

SIMULATORS = Path(__file__).parents[3] / "simulators"
BALLS = str(SIMULATORS / "ball_3d.py")
STANDIN = Path(dots_standin.__file__)


@pytest.fixture
def made():
    open_ones = []

    def make(executable=BALLS, **env_args):
        open_ones.append(DotsEnv(executable=executable, **env_args))
        return open_ones[-1]

    yield make
    for env in open_ones:
        env.close()


def copied(values):
    return {path: np.array(array) for path, array in values.items()}


def played(env, dice, steps):
    """Random actions; what was shown and came of it."""
    found = []
    for _ in range(steps):
        actions = {"actions": dice.uniform(-1, 1, (12, 2)).astype(np.float32)}
        outcomes, terminated, truncated, info = env.step(actions)
        found.append((copied(env.observe()), copied(outcomes), terminated, truncated, dict(info)))
        if truncated:
            env.reset()
    return found


def same(one, other):
    for (shown, outcomes, *ends), (shown_too, outcomes_too, *ends_too) in zip(one, other, strict=True):
        for mine, theirs in ((shown, shown_too), (outcomes, outcomes_too)):
            assert mine.keys() == theirs.keys()
            assert all(np.array_equal(mine[path], theirs[path]) for path in mine)
        assert ends == ends_too


def test_balls_are_streams_of_their_own(made):
    env = made(time_limit=80)
    env.reset()
    assert env.groups == {"agents": 12} and env.episode_limit == 80
    shown = env.observe()
    assert shown["present"].all() and shown["begins"].all()
    found = played(env, np.random.default_rng(1), 80)
    ends = np.stack([outcomes["agents/terminated"] for _, outcomes, *_ in found])
    begins = np.stack([shown["begins"] for shown, *_ in found])
    rewards = np.stack([outcomes["reward"] for _, outcomes, *_ in found])
    assert ends.sum() > 12 and not any(outcomes["agents/truncated"].any() for _, outcomes, *_ in found)
    # a ball that has fallen begins anew at once, in its row
    assert np.array_equal(ends[:-1], begins[:-1])
    assert np.allclose(rewards[ends], -1) and np.allclose(rewards[~ends], 0.1)
    closing = np.stack([shown["closing"] for shown, *_ in found])
    # it fell over an edge: 2.5 m
    assert (np.abs(closing[ends][:, [2, 4]]).max(axis=1) > 2.5).all()
    assert [truncated for *_, truncated, _ in found] == [False] * 79 + [True]
    info = found[-1][-1]
    returns, lengths = stream_returns(rewards, ends)
    assert info["agent_return"] == pytest.approx(np.mean(returns)) and info["agent_length"] == np.mean(lengths)


def stream_returns(rewards, ends):
    returns, lengths = [], []
    for b in range(rewards.shape[1]):
        last = 0
        for t in np.flatnonzero(ends[:, b]):
            returns.append(rewards[last : t + 1, b].sum())
            lengths.append(t + 1 - last)
            last = t + 1
    return returns, lengths


def test_a_state_resumes_exactly_in_another_process(made):
    first, dice = made(time_limit=50, args=["--seed", "{seed}"], seed=7), np.random.default_rng(2)
    first.reset()
    played(first, dice, 70)
    state, generator = first.state_dict(), dice.bit_generator.state
    wanted = played(first, dice, 60)
    second = made(time_limit=50, args=["--seed", "{seed}"], seed=8)
    second.reset()
    played(second, np.random.default_rng(3), 5)
    second.load_state_dict(state)
    dice.bit_generator.state = generator
    same(played(second, dice, 60), wanted)


def test_a_simulator_without_a_state_says_so(made, tmp_path, caplog):
    scenario = tmp_path / "scenario.json"
    group = {"name": "Red", "n": 2, "obs": [[3]], "continuous": 1, "branches": []}
    scenario.write_text(json.dumps({"groups": [group]}))
    env = made(str(STANDIN), args=[str(scenario)])
    for _ in range(2):
        with pytest.raises(NotImplementedError):
            env.state_dict()
    assert [record.getMessage() for record in caplog.records] == [
        "The simulator offers no state to save: a resumed run begins its episode again."
    ]


def test_masks_and_branches_become_fields(made, tmp_path):
    scenario = tmp_path / "scenario.json"
    red = {"name": "Red?team=0", "n": 4, "obs": [[3], [2, 2, 3]], "continuous": 2, "branches": [3, 2]}
    blue = {"name": "Blue", "n": 2, "obs": [[1]], "continuous": 0, "branches": [4]}
    scenario.write_text(json.dumps({"groups": [red, blue], "any_actions": True}))
    env = made(str(STANDIN), args=[str(scenario)], behaviours=["Red?team=0", "Blue"])
    assert env.groups == {"Red_team_0": 4, "Blue": 2}
    fields = env.fields()
    assert fields["Red_team_0/actions/continuous"].low == -1.0
    assert {path: spec.of for path, spec in fields.items() if spec.of} == {
        "Red_team_0/avail/0": "Red_team_0/actions/0",
        "Red_team_0/avail/1": "Red_team_0/actions/1",
        "Blue/avail_actions": "Blue/actions",
    }
    shown = env.observe()
    assert not shown["Blue/present"].any()  # they take turns
    assert shown["Red_team_0/present"].any()
    assert (shown["Red_team_0/avail/0"].sum(axis=1) > 0).all()


def test_observations_that_unity_would_not_write_are_warned_of_once(made, tmp_path, caplog):
    scenario = tmp_path / "scenario.json"
    red = {"name": "Red", "n": 4, "show": 3, "obs": [[3], [2]], "continuous": 1, "branches": []}
    blue = red | {"obs": [[3]]}
    for group, warnings in ((red, 1), (blue, 0)):
        scenario.write_text(json.dumps({"groups": [group], "any_actions": True}))
        env = made(str(STANDIN), args=[str(scenario)])
        env.reset()
        caplog.clear()
        for _ in range(5):
            env.step({"actions": np.zeros((4, 1), np.float32)})
        assert [record.getMessage()[:5] for record in caplog.records] == ["Only "] * warnings


def test_streams_keep_rows_and_lose_them_when_silent():
    streams = Streams(3)
    ask = lambda *ids: [x.tolist() for x in streams.ask(np.array(ids), np.ones(len(ids)))]  # noqa: E731
    assert ask(5, 9) == [[0, 1], [True, True]]
    assert ask(9, 5) == [[1, 0], [False, False]]
    rows, known = streams.end(np.array([5, 77]), np.array([2.0, 1.0]))
    assert (rows.tolist(), known.tolist()) == ([0], [True, False])
    # the first reward came before its first decision
    assert streams.finished.returns == [3.0] and streams.finished.lengths == [2]
    assert ask(5, 9) == [[0, 1], [True, False]]
    assert ask(3) == [[2], [True]]
    # nobody ended, and there is no room: who was silent the longest makes it
    assert ask(4, 5) == [[1, 0], [True, False]] and streams.displaced == 1
    with pytest.raises(SimulatorFault, match="twice"):
        ask(8, 8)


@pytest.mark.parametrize(
    ("env_args", "said"),
    [
        ({"executable": "nothing.py"}, "executable: nothing.py is missing; it must be the file of a simulator"),
        ({"executable": str(Path(BALLS).parent)}, "simulators is a folder; it must be the file of a simulator"),
        ({"executable": ""}, "executable is ''; it must be a path"),
        ({"protocol": "0.3.1"}, "protocol is 0.3.1; it must be auto, 0 or 0.3.2"),
        ({"args": ["x"]}, "args are for an executable"),
        ({"executable": BALLS, "args": "x"}, "args is x; it must be a list"),
        ({"timeout": 0}, "timeout is 0"),
        ({"time_limit": 1.5}, "time_limit is 1.5"),
        ({"engine": {"time_scal": 2}}, "engine.time_scal: there is no such setting. Did you mean 'time_scale'"),
        ({"engine": {"width": 84}}, "width and height belong together"),
        ({"parameters": {"gravity": "much"}}, "parameters.gravity is much; it must be a number"),
        ({"parameters": {"gravity": 1e40}}, "parameters.gravity is 1e+40; it must be a number that fits"),
        ({"parameters": {"Größe": 1.0}}, "the name Größe must be a word in ASCII"),
        ({"side_channels": ["mine"]}, "no plugin has registered 'mine'"),
        ({"masks": "both"}, "masks is 'both'"),
        ({"ids": "columns"}, "ids is 'columns'. Allowed: agents, auto, rows"),
        ({"ids": "rows", "protocol": "0.3.2"}, "ids=rows is of protocol 0, and env_args.protocol is 0.3.2"),
        ({"folder": "nowhere"}, "there is no folder nowhere"),
        ({"executables": BALLS}, "executables"),
    ],
)
def test_wrong_arguments_are_refused(env_args, said):
    with pytest.raises(ConfigError) as refusal:
        DotsEnv.check_args(**env_args)
    assert said in str(refusal.value)


SLOW_TO_REGISTER = """
import time
import numpy as np
from dots_simulator import Simulator, link_0

grow = link_0.Link0._grow
link_0.Link0._grow = lambda *given: (grow(*given), time.sleep(0.05))
with Simulator() as simulator:
    groups = [simulator.behaviour(name, 2, [(3,)], continuous=1) for name in ("Red", "Blue")]
    while simulator.exchange():
        for i, group in enumerate(groups):
            group.decide([2 * i, 2 * i + 1], [np.full((2, 3), i)], 1.0)
"""


def test_groups_of_protocol_0_are_read_when_the_simulator_has_written_them(made, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW_TO_REGISTER)
    env = made(str(tmp_path / "slow.py"), protocol="0")
    assert env.groups == {"Red": 2, "Blue": 2}
    env.reset()
    assert env.observe()["Blue/obs"].tolist() == [[1, 1, 1]] * 2


def test_a_file_that_cannot_be_executed_is_refused(tmp_path):
    (tmp_path / "Walker.x86_64").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be executed.*chmod u\+x"):
        DotsEnv.check_args(executable=str(tmp_path / "Walker"))


def test_a_folder_without_room_for_files_is_one_sentence():
    with pytest.raises(MusterError, match=r"Files for a simulator cannot be made in /proc: "):
        connect(Wanted(BALLS, folder="/proc"))


def test_a_simulator_refuses_what_it_does_not_know(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["balls.py", "--agnts", "3"])
    with pytest.raises(SystemExit):
        parse_arguments("balls", agents=12)
    assert "unrecognized arguments: --agnts 3" in capsys.readouterr().err


def test_a_simulator_that_nobody_waits_for_says_so_in_one_sentence(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.argv", ["balls.py", "--memory-path", str(tmp_path / "none")])
    with pytest.raises(SystemExit):
        parse_arguments("balls", agents=12)
    assert "error: no trainer waits for this simulator: the file of --memory-path is" in capsys.readouterr().err


def test_parameters_and_engine_settings_arrive(made, tmp_path):
    simulator = tmp_path / "echo.py"
    simulator.write_text(
        """
import numpy as np
from dots_simulator import Simulator
with Simulator() as simulator:
    one = simulator.behaviour("One", 1, [(2,)], continuous=1)
    while simulator.exchange():
        simulator.send_statistic("speed", 3.0)
        seen = [simulator.parameter("gravity", 0.0), simulator.engine.get("time_scale", 0.0)]
        one.decide(np.array([0]), [np.array([seen])], np.array([0.0]))
"""
    )
    env = made(str(simulator), parameters={"gravity": 2.5}, engine={"time_scale": 20}, time_limit=3)
    env.reset()
    assert env.observe()["obs"].tolist() == [[2.5, 20.0]]
    infos = [env.step({"actions": np.zeros((1, 1))})[3] for _ in range(3)]
    assert infos[0] == {} and infos[2]["speed"] == 3.0


def test_options_fill_in_the_copys_numbers():
    options = Options(executable=BALLS, args=["--seed={seed}", "{copy}", 3], seed=5, place=(0, 2, 4))
    assert options.wanted().args == ["--seed=5", "4", "3"]


def test_without_an_executable_it_waits_for_whoever_attaches(made, tmp_path, caplog):
    caplog.set_level("INFO", logger="muster")
    with pytest.raises(SimulatorFault, match=r"Nobody has attached to .*default within 0\.1 seconds"):
        made(None, folder=str(tmp_path), launch_timeout=0.1)
    assert "press Play" in caplog.records[0].getMessage()
    assert list(tmp_path.iterdir()) == []
    command = [sys.executable, BALLS, "--memory-path", str(tmp_path / "default")]
    editor = threading.Timer(0.2, lambda: started.append(subprocess.Popen(command)))
    started = []
    editor.start()
    env = made(None, folder=str(tmp_path), launch_timeout=20, time_limit=5)
    env.reset()
    assert len(played(env, np.random.default_rng(1), 5)) == 5
    env.close()
    assert started[0].wait(10) == 0
    assert list(tmp_path.iterdir()) == []
