"""Messages between agents: the exchange by loops, and what networks that communicate have in common."""

import logging

import pytest
import torch as th

from cli.probe_configs import config_of
from cli.probing import _Figures as RunRecord
from controllers.inputs import StepInputs
from envs.probes import MESSAGE
from helpers import fill, make_args
from modules.agents import REGISTRY
from modules.agents.messages import Message, check_heads, exchange
from modules.unshared import unshare
from run import run
from utils.errors import ConfigError

COMMUNICATING = sorted(name for name in REGISTRY if REGISTRY.entry(name).traits.get("communicates"))
N, TEAMS = 3, 2


def numbers(*shape, seed=0):
    return th.randn(*shape, generator=th.Generator().manual_seed(seed))


def heard_by_loops(message, own):
    """Of `TEAMS` teams of `N` agents, one head of attention after another."""
    heads, out = message.heads, th.zeros_like(message.values)
    width = out.size(1) // heads
    for team in range(TEAMS):
        rows = range(team * N, team * N + N)
        for i, receiver in enumerate(rows):
            for head in range(heads):
                part, weights = slice(head * width, head * width + width), []
                for j, sender in enumerate(rows):
                    weight = th.tensor(1.0) if message.links is None else message.links[i, j]
                    if message.keys is not None:
                        size = message.keys.size(1) // heads
                        signature = slice(head * size, head * size + size)
                        product = message.queries[receiver, signature] @ message.keys[sender, signature]
                        weight = weight * (product / size**0.5).exp()
                    weights.append(weight * (own or i != j))
                for sender, weight in zip(rows, weights, strict=True):
                    gate = 1 if message.gates is None else message.gates[sender]
                    out[receiver, part] += (
                        weight / max(float(sum(weights).detach()), 1e-8) * gate * message.values[sender, part]
                    )
    return out


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("parts", ["", "keys", "gates", "links", "keys gates links"])
def test_an_agent_hears_the_mean_of_its_team(parts, heads, own):
    rows = N * TEAMS
    known = {
        "keys": {"keys": numbers(rows, 6, seed=1), "queries": numbers(rows, 6, seed=2)},
        "gates": {"gates": th.rand(rows, 1)},
        "links": {"links": th.tensor([[1.0, 1, 0], [0, 1, 0], [1, 1, 1]])},
    }
    message = Message(numbers(rows, 4), heads=heads)
    for part in parts.split():
        message = message._replace(**known[part])
    th.testing.assert_close(exchange(message, N, own), heard_by_loops(message, own))


def test_a_team_of_one_hears_nothing():
    message = Message(numbers(4, 2), numbers(4, 2), numbers(4, 2))
    assert exchange(message, 1).abs().sum() == 0
    assert exchange(message._replace(keys=None), 1).abs().sum() == 0
    th.testing.assert_close(exchange(message, 1, own=True), message.values)


def agent_and_inputs(name, steps=4, **options):
    args = make_args(n_agents=N, n_actions=3, rnn_hidden_dim=4, **options)
    agent = REGISTRY[name]({"obs": (5,), "others": (3,)} if REGISTRY[name].takes_parts else 8, args)
    fill(agent.parameters())
    rows = N * TEAMS
    inputs = [StepInputs({"obs": numbers(rows, 5, seed=10 + t)}, numbers(rows, 3, seed=50 + t)) for t in range(steps)]
    return agent, inputs


def together(inputs):
    obs, others = (th.cat(x) for x in zip(*((x.observations["obs"], x.others) for x in inputs), strict=True))
    return StepInputs({"obs": obs}, others)


def start_of(agent):
    return agent.init_hidden().expand(TEAMS, N, -1)


@pytest.mark.parametrize("name", [*COMMUNICATING, "conv"])
def test_all_steps_at_once_are_one_after_another(name):
    """Of two teams, one of which has fewer steps."""
    agent, inputs = agent_and_inputs(name)
    short = [x if t < 2 else StepInputs({"obs": x.observations["obs"][:N]}, x.others[:N]) for t, x in enumerate(inputs)]
    sizes = [len(x.others) for x in short]
    outputs, states = agent.sequence(agent.encode(together(short)), sizes, start_of(agent))
    hidden = start_of(agent).flatten(0, 1)
    for x, of_step, after in zip(short, outputs.split(sizes), states.split(sizes), strict=True):
        found, hidden = agent(x, hidden[: len(x.others)])
        th.testing.assert_close(found, of_step)
        th.testing.assert_close(hidden, after)


@pytest.mark.parametrize("name", COMMUNICATING)
def test_agents_hear_their_own_team_and_no_other(name):
    """What agent 0 of the first team sees changes what the others of its team do, then or later."""
    agent, inputs = agent_and_inputs(name, steps=3)
    sizes = [N * TEAMS] * 3
    if name == "ic3net":
        th.nn.init.constant_(agent.gate.bias, 9.0)

    def outputs():
        return agent.sequence(agent.encode(together(inputs)), sizes, start_of(agent))[0].view(3, TEAMS, N, -1)

    before = outputs()
    inputs[0].observations["obs"][0] += 1
    changed = (outputs() - before).abs().sum(-1) > 1e-6
    assert changed[:, 0, 1:].any(0).all()
    assert not changed[:, 1].any()


@pytest.mark.parametrize("name", [*COMMUNICATING, "conv"])
def test_agents_with_weights_of_their_own(name):
    """Equal at first, they do what agents do that share them; then each by its own."""
    agent, inputs = agent_and_inputs(name)
    sizes, x = [N * TEAMS] * 4, together(inputs)
    shared = agent.sequence(agent.encode(x), sizes, start_of(agent))[0]
    weights = {key: weight.clone() for key, weight in agent.state_dict().items()}
    unshare(agent, N, "agents")
    with th.no_grad():
        for key, weight in agent.named_parameters():
            weight.copy_(weights[key].expand_as(weight))
    found = agent.sequence(agent.encode(x), sizes, start_of(agent))[0]
    th.testing.assert_close(found, shared)
    with th.no_grad():
        (agent.fc3[-1] if name == "att_rnn" else agent.fc2).bias[1] += 1
    moved = agent.sequence(agent.encode(x), sizes, start_of(agent))[0] - found
    assert moved.view(-1, N, 3).abs().sum((0, 2)).gt(1e-3).tolist() == [False, True, False]


def test_attention_to_what_others_see_by_hand():
    agent, inputs = agent_and_inputs("att_rnn", steps=1)
    w, rows = agent.state_dict(), inputs[0].rows
    sent = [rows @ w[f"att.{part}.weight"].T for part in ("tovalues", "tokeys", "toqueries")]
    heard = heard_by_loops(Message(*sent, heads=4), own=True)
    cell = th.nn.GRUCell(4, 4)
    cell.load_state_dict({key.removeprefix("rnn."): x for key, x in w.items() if key.startswith("rnn.")})
    hidden = cell(relu(rows @ w["fc1.weight"].T + w["fc1.bias"]), th.zeros(N * TEAMS, 4))
    x = th.cat([hidden, relu(heard @ w["fc2.weight"].T + w["fc2.bias"])], 1)
    expected = relu(x @ w["fc3.0.weight"].T + w["fc3.0.bias"]) @ w["fc3.2.weight"].T + w["fc3.2.bias"]
    found, after = agent(inputs[0], start_of(agent))
    th.testing.assert_close(found, expected)
    th.testing.assert_close(after, hidden)


def relu(x):
    return x.clamp(min=0)


def linear(w, layer, x):
    return x @ w[f"{layer}.weight"].T + w.get(f"{layer}.bias", 0)


def cell_of(w):
    cell = th.nn.GRUCell(w["rnn.weight_ih"].size(1), 4)
    cell.load_state_dict({key.removeprefix("rnn."): x for key, x in w.items() if key.startswith("rnn.")})
    return cell


def by_hand(name, w, x, hidden, rounds):
    """Memories after a step, of the encoded inputs and the memories before it."""
    if name == "commnet":
        hidden = cell_of(w)(x, hidden)
        for k in range(rounds):
            heard = heard_by_loops(Message(hidden), own=False)
            hidden = th.tanh(linear(w, f"own.{k}", hidden) + linear(w, f"heard.{k}", heard))
        return hidden
    if name == "ic3net":
        gates = (th.sigmoid(linear(w, "gate", hidden)) > 0.5).float()
        return cell_of(w)(x + linear(w, "heard", heard_by_loops(Message(hidden, gates=gates), own=False)), hidden)
    state = hidden
    for k in range(rounds):
        sent = [linear(w, part, state) for part in ("values", "keys", "queries")]
        heard = heard_by_loops(Message(*sent, heads=2), own=True)
        if k < rounds - 1:
            state = th.tanh(linear(w, "between", th.cat([heard, state], 1)))
    return cell_of(w)(th.cat([x, heard], 1), hidden)


@pytest.mark.parametrize(
    ("name", "rounds"), [("commnet", 1), ("commnet", 2), ("tarmac", 1), ("tarmac", 3), ("ic3net", 1)]
)
def test_two_steps_by_hand(name, rounds):
    agent, inputs = agent_and_inputs(name, steps=2, comm_rounds=rounds, comm_heads=2, comm_dim=6, comm_key_dim=3)
    w, hidden, found = agent.state_dict(), th.zeros(N * TEAMS, 4), start_of(agent).flatten(0, 1)
    for x in inputs:
        hidden = by_hand(name, w, relu(linear(w, "fc1", x.rows)), hidden, rounds)
        outputs, found = agent(x, found)
        th.testing.assert_close(found, hidden)
        th.testing.assert_close(outputs, linear(w, "fc2", hidden))


def test_gates_learn_through_their_threshold():
    agent, inputs = agent_and_inputs("ic3net", steps=2)
    outputs, _ = agent.sequence(agent.encode(together(inputs)), [N * TEAMS] * 2, start_of(agent))
    outputs.sum().backward()
    assert agent.gate.weight.grad.abs().sum() > 0


def test_a_message_is_divided_into_heads_of_equal_size():
    assert check_heads({"comm_dim": 8, "comm_heads": 2}) is None
    with pytest.raises(ConfigError, match=r"comm_dim=8 does not divide into comm_heads=3"):
        check_heads({"comm_dim": 8, "comm_heads": 3})


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "least", "most"), [("rnn", 0.2, 0.7), ("commnet", 0.95, 1)])
def test_only_agents_with_messages_learn_what_another_one_sees(tmp_path, agent, least, most):
    config, _ = config_of("memory", 2, "vdn", {"agent": agent, "t_max": 2000})
    config["env_args"]["game"] = MESSAGE
    record = RunRecord()
    run({**config, "local_results_path": str(tmp_path)}, record, logging.getLogger("message"))
    assert least <= record.info["test_return_mean"][-1] <= most


def test_convolutions_over_the_last_four_inputs_by_hand():
    agent, inputs = agent_and_inputs("conv", steps=5)
    w, rows = agent.state_dict(), [x.rows for x in inputs]
    frames = [th.zeros_like(rows[0])] * 3 + rows
    outputs = agent.sequence(agent.encode(together(inputs)), [N * TEAMS] * 5, start_of(agent))[0]
    for t, found in enumerate(outputs.split(N * TEAMS)):
        seen = frames[t : t + 4]
        first = [
            relu(sum(seen[i + k] @ w["conv1.weight"][:, :, k].T for k in range(2)) + w["conv1.bias"]) for i in range(3)
        ]
        second = relu(sum(first[k] @ w["conv2.weight"][:, :, k].T for k in range(3)) + w["conv2.bias"])
        expected = relu(second @ w["fc1.weight"].T + w["fc1.bias"]) @ w["fc2.weight"].T + w["fc2.bias"]
        th.testing.assert_close(found, expected)
