"""The API of ML-Agents over the stand-in and over a simulator of the package."""

import gc
import json
import uuid
from pathlib import Path

import numpy as np
import pytest

import dots_standin
import dots_turns
from envs.dots import api, connecting

pytestmark = pytest.mark.slow

SIMULATORS = Path(__file__).parents[3] / "simulators"
STANDIN = Path(dots_standin.__file__)
RED = {"name": "Red?team=0", "n": 5, "obs": [[3], [2, 2, 3]], "continuous": 2, "branches": [3, 2]}
CHANNEL = uuid.UUID(bytes_le=dots_turns.GUID)


@pytest.fixture
def made(tmp_path):
    """Makes environments of the stand-in, which are closed at the end."""
    open_ones = []

    def make(scenario, **arguments):
        file = tmp_path / f"scenario{len(open_ones)}.json"
        file.write_text(json.dumps(scenario))
        env = api.UnityEnvironment(str(STANDIN), additional_args=[str(file)], **arguments)
        open_ones.append(env)
        return env

    yield make
    for env in open_ones:
        env.close()


def actions_of(frame):
    asking = len(dots_turns.rows(frame, RED)[0])
    floats, choices = dots_turns.actions(frame, RED, asking)
    return np.array(floats), np.array(choices)


def test_steps_and_actions_are_those_of_the_simulator(made):
    raw = api.RawBytesChannel(CHANNEL)
    env = made({"groups": [RED], "message": 30}, side_channels=[raw])
    assert len(env.behavior_specs) == 0
    env.reset()
    spec = env.behavior_specs[RED["name"]]
    assert [one.shape for one in spec.observation_specs] == [(3,), (2, 2, 3)]
    assert spec.action_spec == api.ActionSpec(2, (3, 2))
    kept = []
    for frame in range(8):
        asking, ended = dots_turns.rows(frame, RED)
        decisions, terminals = env.get_steps(RED["name"])
        kept.append((decisions.obs[0], decisions.obs[0].copy(), terminals.reward, terminals.reward.copy()))
        assert list(decisions) == [agent[2] for agent in asking] and len(terminals) == len(ended)
        for row, agent in enumerate(asking):
            one = decisions[agent[2]]
            assert one.obs[1].ravel().tolist() == agent[0][1] and one.reward == agent[1]
            assert [mask.tolist() for mask in one.action_mask] == [
                [bool(x) for x in agent[3][:3]],
                [bool(x) for x in agent[3][3:]],
            ]
            assert decisions.agent_id_to_index[agent[2]] == row
        for agent in ended:
            one = terminals[agent[2]]
            assert (one.reward, one.interrupted) == (agent[1], bool(agent[3])) and agent[2] in terminals
        with pytest.raises(KeyError):
            decisions[-1]
        floats, choices = actions_of(frame)
        if frame % 2:
            env.set_actions(RED["name"], api.ActionTuple(floats, choices))
        else:  # one by one
            for row, agent in enumerate(asking):
                action = api.ActionTuple(floats[row : row + 1], choices[row : row + 1])
                env.set_action_for_agent(RED["name"], agent[2], action)
        env.query() if frame == 3 else None
        env.step()
    # arrays belong to whoever holds them
    assert all(np.array_equal(a, b) and np.array_equal(c, d) for a, b, c, d in kept)
    received = raw.get_and_clear_received_messages()
    sent = [dots_turns.from_simulator(turn, 30) for turn in range(1, 11)]
    assert received == [payload[20:] for payload in sent if payload]


def test_masks_are_read_agent_by_agent_or_a_block_for_each_branch(made):
    asking, _ = dots_turns.rows(0, RED)
    written = np.zeros((RED["n"], 5), bool)
    written[: len(asking)] = [agent[3] for agent in asking]
    for by_branch, wanted in (
        (False, [written[:, :3], written[:, 3:]]),
        (True, [written.ravel()[:15].reshape(5, 3), written.ravel()[15:].reshape(5, 2)]),
    ):
        env = made({"groups": [RED]}, masks_by_branch=by_branch)
        env.reset()
        shown = env.get_steps(RED["name"])[0].action_mask
        assert [mask.tolist() for mask in shown] == [mask[: len(asking)].tolist() for mask in wanted]


def test_wrong_actions_are_refused(made):
    env = made({"groups": [RED]})
    env.reset()
    decisions, _ = env.get_steps(RED["name"])
    n = len(decisions)
    with pytest.raises(api.UnityActionException, match=r"continuous actions of the shape \(\d, 2\)"):
        env.set_actions(RED["name"], api.ActionTuple(np.zeros((n, 3)), np.zeros((n, 2))))
    with pytest.raises(api.UnityActionException, match=r"ActionTuple\(continuous=array, discrete=array\), not ndarray"):
        env.set_actions(RED["name"], np.zeros((n, 2)))
    with pytest.raises(api.UnityActionException, match="no behavior Blue"):
        env.set_actions("Blue", api.ActionTuple())
    with pytest.raises(api.UnityActionException, match="agent -5"):
        env.set_action_for_agent(RED["name"], -5, api.ActionTuple(np.zeros((1, 2)), np.zeros((1, 2))))
    env.close()
    with pytest.raises(api.UnityEnvironmentException, match="closed"):
        env.step()
    env.close()


def test_a_group_in_which_nobody_asks_takes_an_empty_action(made):
    quiet = {"name": "Quiet", "n": 2, "obs": [[1]], "continuous": 1, "branches": [], "from": 2}
    env = made({"groups": [RED, quiet]})
    env.reset()
    frame = 0
    while "Quiet" not in env.behavior_specs:
        env.set_actions(RED["name"], api.ActionTuple(*actions_of(frame)))
        env.step()
        frame += 1
        if "Quiet" in env.behavior_specs:
            break
    decisions, _ = env.get_steps(RED["name"])
    assert len(decisions) == 0
    env.set_actions(RED["name"], api.ActionTuple())
    env.set_actions(RED["name"], env.behavior_specs[RED["name"]].action_spec.empty_action(0))


def test_failures_are_the_packages_exceptions(made):
    env = made({"groups": [RED], "faults": [[1, "exit"]]})
    env.reset()
    env.set_actions(RED["name"], api.ActionTuple(*actions_of(0)))
    with pytest.raises(api.UnityCommunicationException, match="exit code 3"):
        env.step()
    env = made({"groups": [RED], "faults": [[0, "hang"]]}, timeout_wait=0.5)
    with pytest.raises(api.UnityTimeOutException, match="hangs answering a reset"):
        env.reset()
    with pytest.raises(api.UnityCommunicationException, match="There is no executable"):
        api.UnityEnvironment("no such file")


def test_a_file_that_cannot_be_executed_is_reported_once(tmp_path):
    (tmp_path / "Walker.x86_64").write_text("")
    with pytest.raises(api.UnityCommunicationException, match=r"^The simulator \S*Walker.x86_64 cannot be started: "):
        api.UnityEnvironment(str(tmp_path / "Walker"))


def test_protocol_0_is_found_where_the_simulator_speaks_it(made, monkeypatch):
    # other tests start the same file with the other protocol
    monkeypatch.setattr(connecting, "_of_protocol_0", set())
    green = {"name": "Green", "n": 8, "show": 4, "obs": [[3], [2, 2]], "continuous": 2, "branches": []}
    env = made({"protocol": "0", "groups": [green]})
    env.reset()
    decisions, terminals = env.get_steps("Green")
    asking, ended = dots_turns.rows(0, green)
    assert decisions.obs[0].tolist() == [agent[0][0] for agent in asking]
    assert terminals.reward.tolist() == [agent[1] for agent in ended]
    assert decisions.action_mask is None


def test_an_environment_that_nobody_holds_is_ended(caplog):
    env = api.UnityEnvironment(str(SIMULATORS / "ball_3d.py"))
    env.reset()
    decisions, _ = env.get_steps("3DBall")
    assert len(decisions) == 12
    env.step()
    process = env._session.process
    del env
    gc.collect()
    assert not process.alive
    assert not caplog.records, "the simulator's offer of its state is not worth a message"


def test_arrays_are_actions_where_they_are_of_one_kind():
    floats, choices = api.ActionSpec.create_continuous(2), api.ActionSpec.create_discrete((3, 2))
    assert floats.fitting(np.ones((4, 2)), 4, "One")[0].dtype == np.float32
    assert choices.fitting(np.ones((4, 2)), 4, "One")[1].dtype == np.int32
    assert choices.fitting([[1, 0]], 1, "One")[1].tolist() == [[1, 0]]
    for spec, given, said in (
        (floats, "up", r"an array of continuous actions, or ActionTuple\(continuous=array\), not str"),
        (choices, None, r"an array of discrete actions, or ActionTuple\(discrete=array\), not NoneType"),
        (choices, np.full((1, 2), 0.5), "discrete actions, which are whole numbers"),
        (choices, np.ones((1, 3)), r"discrete actions of the shape \(1, 2\), not \(1, 3\)"),
        (api.ActionSpec(1, (2,)), np.ones((1, 2)), "has continuous and discrete actions and needs both"),
    ):
        with pytest.raises(api.UnityActionException, match=said):
            spec.fitting(given, 1, "One")


def test_channels_from_before_there_were_messages_get_and_send_bytes():
    class Old(api.SideChannel):
        def on_message_received(self, data):
            self.queue_message_to_send(data[1:] + b"!")

    channel = Old(CHANNEL)
    channel.on_message_received(api.IncomingMessage(b"\x01abc"))
    assert channel.message_queue == [b"abc!"]
