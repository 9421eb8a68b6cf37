"""Agents that see entities by what the environment declares: their order, and networks written out by hand."""

from types import SimpleNamespace

import pytest
import torch as th

from helpers import fill, make_args
from modules.agents import REGISTRY
from modules.agents.seen_entities import SeenEntities
from muster.testing import check_agent, random_batch
from utils.errors import ConfigError
from utils.meanings import ALLY, ENEMY, OWN, Action, Columns, Group, Meaning

AGENTS = [name for name in REGISTRY if REGISTRY.entry(name).traits.get("needs_meaning")]
# where enemies, 3 of 2 features, and allies, 2 of 3 features, are among 16 numbers; actions are not in order, either
ENEMIES, ALLIES, ITSELF = [[1, 0], [4, 5], [14, 15]], [[6, 7, 8], [9, 10, 11]], [2, 3, 12, 13]
ATTACKS = [3, 1, 5]


def _meaning():
    groups = (
        Group(ENEMY, "obs", ("x", "y"), tuple(map(tuple, ENEMIES))),
        Group(ALLY, "obs", ("x", "y", "z"), tuple(map(tuple, ALLIES))),
        Group(OWN, "obs", tuple("abcd"), (tuple(ITSELF),)),
    )
    actions = [Action(str(number)) for number in range(6)]
    for enemy, number in enumerate(ATTACKS):
        actions[number] = Action(str(number), (ENEMY, enemy))
    return Meaning(groups, tuple(actions))


def _args(name="hpn_rnn", meaning=None, **changes):
    meaning = meaning or _meaning()
    known = {**REGISTRY.entry(name).defaults, "meaning": meaning, "n_actions": 6, "n_agents": 2, "rnn_hidden_dim": 5}
    return make_args(**{**known, "hpn_hyper_dim": 4, **changes})


def _agent(name="hpn_rnn", **changes):
    agent = REGISTRY[name]({"obs": (16,), "others": (2,)}, _args(name, **changes))
    fill(agent.parameters(), seed=3)
    return agent


def _inputs(rows=4):
    th.manual_seed(1)
    return SimpleNamespace(observations={"obs": th.randn(rows, 16)}, others=th.randn(rows, 2))


@pytest.mark.parametrize("heads", [1, 3])
def test_hypernetworks_make_the_weights_of_each_entity(heads):
    agent, inputs = _agent(hpn_head_num=heads), _inputs()
    w, obs, memory = agent.state_dict(), inputs.observations["obs"], th.randn(4, 5)

    def shares(name):
        return w[f"{name}.weight"].softmax(1) if heads > 1 else th.ones(1, 1)  # [outputs, heads]

    def of_kind(kind, x):
        made = (x @ w[f"hyper_{kind}.0.weight"].T + w[f"hyper_{kind}.0.bias"]).relu()
        made = made @ w[f"hyper_{kind}.2.weight"].T + w[f"hyper_{kind}.2.bias"]
        count = x.shape[1] * heads * 5
        by_head = th.einsum("pf,pfho->pho", x, made[:, :count].view(-1, x.shape[1], heads, 5))
        return (by_head * shares("input_heads").T).sum(1), made[:, count:]

    rows = {kind: [obs[:, row] for row in places] for kind, places in (("enemy", ENEMIES), ("ally", ALLIES))}
    embedded = th.cat([obs[:, ITSELF], inputs.others], 1) @ w["fc1_own.weight"].T + w["fc1_own.bias"]
    embedded = embedded + sum(of_kind(kind, x)[0] for kind, of in rows.items() for x in of)
    cell = th.nn.GRUCell(5, 5)
    cell.load_state_dict({key.removeprefix("rnn."): x for key, x in w.items() if key.startswith("rnn.")})
    hidden = cell(embedded.relu(), memory)
    expected = th.empty(4, 6)
    expected[:, [0, 2, 4]] = hidden @ w["fc2.weight"].T + w["fc2.bias"]
    for enemy, number in zip(rows["enemy"], ATTACKS, strict=True):
        made = of_kind("enemy", enemy)[1]
        by_head = th.einsum("po,poh->ph", hidden, made[:, : 5 * heads].view(-1, 5, heads)) + made[:, 5 * heads :]
        expected[:, number] = (by_head * shares("output_heads_enemy")).sum(1)
    outputs, state = agent(inputs, memory)
    th.testing.assert_close(state, hidden)
    th.testing.assert_close(outputs, expected)


def test_memory_and_entities_attend_to_each_other():
    agent, inputs = _agent("updet", transformer_embed_dim=4, transformer_heads=2), _inputs()
    w, obs, memory = agent.state_dict(), inputs.observations["obs"], th.randn(4, 4)

    def embedded(x):
        return w["token_embedding.weight"][:, : x.shape[1]] @ x.T + w["token_embedding.bias"][:, None]

    def normalised(x, name):
        x = (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, correction=0) + 1e-5).sqrt()
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    own = th.cat([obs[:, ITSELF], inputs.others], 1)
    tokens = [embedded(x).T for x in (own, *(obs[:, row] for row in (*ENEMIES, *ALLIES)))]
    outputs, after = agent(inputs, memory)
    for row in range(4):
        x = th.stack([*(token[row] for token in tokens), memory[row]])
        for block in ("blocks.0", "blocks.1"):
            heads = []
            queries, keys, values = (x @ w[f"{block}.queries_keys_values.weight"].T).split(8, 1)
            for of_head in zip(queries.split(4, 1), keys.split(4, 1), values.split(4, 1), strict=True):
                heads.append((of_head[0] @ of_head[1].T / 2).softmax(1) @ of_head[2])
            attended = th.cat(heads, 1) @ w[f"{block}.unify.weight"].T + w[f"{block}.unify.bias"]
            x = normalised(x + attended, f"{block}.norm1")
            inner = (x @ w[f"{block}.ff1.weight"].T + w[f"{block}.ff1.bias"]).relu()
            x = normalised(x + inner @ w[f"{block}.ff2.weight"].T + w[f"{block}.ff2.bias"], f"{block}.norm2")
        x = x @ w["last.weight"].T + w["last.bias"]
        values = x @ w["q_basic.weight"].T + w["q_basic.bias"]
        th.testing.assert_close(outputs[row, [0, 2, 4]], values[0])
        th.testing.assert_close(outputs[row, ATTACKS], values[1:4].mean(1))
        th.testing.assert_close(after[row], x[-1])


@pytest.mark.parametrize("name", AGENTS)
def test_entities_change_places_with_their_actions(name):
    agent, inputs = _agent(name), _inputs()
    hidden = th.randn(4, agent.init_hidden().shape[1])
    before, memory = agent(inputs, hidden)
    obs = inputs.observations["obs"]
    inputs.observations["obs"] = moved = obs.clone()
    for to, enemy in enumerate((2, 0, 1)):
        moved[:, ENEMIES[to]] = obs[:, ENEMIES[enemy]]
    for to, ally in enumerate((1, 0)):
        moved[:, ALLIES[to]] = obs[:, ALLIES[ally]]
    outputs, after = agent(inputs, hidden)
    th.testing.assert_close(after, memory)
    order = [0, ATTACKS[0], 2, ATTACKS[2], 4, ATTACKS[1]]
    th.testing.assert_close(outputs, before[:, order])
    assert (outputs - before).abs().amax(0)[ATTACKS].min() > 1e-4
    moved[:, ENEMIES[0]] += 1
    assert (agent(inputs, hidden)[0] - outputs).abs().amax(0).min() > 1e-5


@pytest.mark.parametrize(
    ("name", "changes"), [("hpn_rnn", {"hpn_head_num": 2}), *((name, {}) for name in AGENTS if name != "hpn_rnn")]
)
def test_all_forms_compute_the_same(name, changes):
    """Of agents of `random_batch`, with observations of 5 numbers and 3 actions."""
    seen = Columns()
    seen.add(OWN, "a")
    seen.add(ENEMY, "xy", rows=2)
    meaning = Meaning(
        tuple(seen.groups), (Action("attack 1", (ENEMY, 1)), Action("wait"), Action("attack 0", (ENEMY, 0)))
    )
    small = {"rnn_hidden_dim": 5, "hpn_hyper_dim": 4, "transformer_embed_dim": 6}
    declared = {key: x for key, x in small.items() if key in REGISTRY.entry(name).defaults or key == "rnn_hidden_dim"}
    check_agent(name, random_batch([3, 2], 4), meaning=meaning, **declared, **changes)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (None, r"it has no meaning\(\)"),
        ([Group(OWN, "obs", ("a",), ((0,),))], "meaning.. has 1 numbers of 'obs', of which agents see 2"),
        ([Group(OWN, "obs", ("a",) * 3, ((0, 1, 2),))], "has 3 numbers of 'obs', of which agents see 2"),
        ([Group(OWN, "obs", ("a", "b"), ((0, 1),), (0,))], "see different groups"),
        ([Group("food", "obs", ("a", "b"), ((0, 1),)), Group("food", "x", ("a",), ((0,),))], "different features"),
    ],
)
def test_declarations_that_do_not_say_enough_are_refused(groups, words):
    meaning = groups and Meaning(tuple(groups), (Action("wait"),))
    args = SimpleNamespace(meaning=meaning, n_agents=2, n_actions=1)
    with pytest.raises(ConfigError, match=f"agent=own: .*{words}"):
        SeenEntities("own", {"obs": (2,), **({"x": (1,)} if groups and len(groups) > 1 else {})}, args)


def test_targets_of_healers_are_refused():
    meaning = Meaning((Group(OWN, "obs", ("a",), ((0,),)),), (Action("0", None, ("agent", 0)),))
    with pytest.raises(ConfigError, match=r"env_args\.observation=entities"):
        SeenEntities("own", {"obs": (1,)}, SimpleNamespace(meaning=meaning, n_agents=1, n_actions=1))


def test_one_kind_may_be_in_several_fields():
    groups = Group("food", "obs", ("a",), ((0,), (1,))), Group("food", "more", ("a",), ((0,),))
    seen = SeenEntities(
        "own",
        {"obs": (2,), "more": (1,)},
        SimpleNamespace(meaning=Meaning(groups, (Action("eat", ("food", 2)), Action("wait"))), n_agents=1, n_actions=3),
    )
    inputs = SimpleNamespace(observations={"obs": th.tensor([[1.0, 2.0]]), "more": th.tensor([[3.0]])}, others=None)
    own, entities = seen.split(inputs)
    assert own.shape == (1, 0) and entities["food"].flatten().tolist() == [1, 2, 3]
    assert seen.fixed == 2 and seen.outputs(th.tensor([[8.0, 9.0]]), [entities["food"][..., 0].T]).tolist() == [
        [3, 8, 9]
    ]
