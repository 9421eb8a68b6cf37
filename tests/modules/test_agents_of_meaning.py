"""Agents that see entities by what the environment declares: their order, and networks written out by hand."""

from types import SimpleNamespace

import pytest
import torch as th

import pymarl3_equals
from controllers.inputs import StepInputs
from helpers import fill, make_args
from modules.agents import REGISTRY
from modules.seen_entities import SeenEntities
from muster.testing import check_agent, random_batch
from utils.errors import ConfigError
from utils.meanings import ALLY, ENEMY, OWN, SURROUNDINGS, Action, Columns, Group, Meaning

AGENTS = [name for name in REGISTRY if REGISTRY.entry(name).traits.get("needs_meaning")]
# those that PyMARL3 has, too
THEIRS = [name for name in AGENTS if name not in ("entity_attend_rnn", "transf", "pooled_rnn")]
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
    return StepInputs({"obs": th.randn(rows, 16)}, th.randn(rows, 2))


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


def _moved(obs):
    """Enemies 2, 0, 1 and allies 1, 0 in the places of 0, 1, 2 and 0, 1."""
    moved = obs.clone()
    for places, order in ((ENEMIES, (2, 0, 1)), (ALLIES, (1, 0))):
        for to, entity in enumerate(order):
            moved[:, places[to]] = obs[:, places[entity]]
    return moved


@pytest.mark.parametrize(
    ("name", "changes"), [("hpn_rnn", {}), ("updet", {}), ("deepset_rnn", {"target_weights": True})]
)
def test_entities_change_places_with_their_actions(name, changes):
    agent, inputs = _agent(name, **changes), _inputs()
    hidden = th.randn(4, agent.init_hidden().shape[1])
    before, memory = agent(inputs, hidden)
    moved = inputs.observations["obs"] = _moved(inputs.observations["obs"])
    outputs, after = agent(inputs, hidden)
    th.testing.assert_close(after, memory)
    order = [0, ATTACKS[0], 2, ATTACKS[2], 4, ATTACKS[1]]
    th.testing.assert_close(outputs, before[:, order])
    assert (outputs - before).abs().amax(0)[ATTACKS].min() > 1e-4
    moved[:, ENEMIES[0]] += 1
    assert (agent(inputs, hidden)[0] - outputs).abs().amax(0).min() > 1e-5


@pytest.mark.parametrize("name", ["deepset_rnn", "gnn_rnn"])
def test_values_do_not_depend_on_the_order_of_entities(name):
    agent, inputs = _agent(name), _inputs()
    hidden = th.randn(4, agent.init_hidden().shape[1])
    before, memory = agent(inputs, hidden)
    inputs.observations["obs"] = _moved(inputs.observations["obs"])
    outputs, after = agent(inputs, hidden)
    th.testing.assert_close(after, memory)
    th.testing.assert_close(outputs, before)
    inputs.observations["obs"][:, ENEMIES[0]] += 1
    assert (agent(inputs, hidden)[0] - outputs).abs().amax(0).min() > 1e-5


def _entities(obs):
    rows = {"enemy": ENEMIES, "ally": ALLIES}
    return {kind: th.stack([obs[:, row] for row in places]) for kind, places in rows.items()}


def _cell(weights, size, name="rnn."):
    cell = th.nn.GRUCell(size, size)
    cell.load_state_dict({key.removeprefix(name): x for key, x in weights.items() if key.startswith(name)})
    return cell


def test_sets_are_summed_and_attacks_have_weights_of_their_targets():
    agent, inputs, memory = _agent("deepset_rnn", target_weights=True), _inputs(), th.randn(4, 5)
    w, obs = agent.state_dict(), inputs.observations["obs"]
    embedded = th.cat([obs[:, ITSELF], inputs.others], 1) @ w["fc1_own.weight"].T + w["fc1_own.bias"]
    for kind, x in _entities(obs).items():
        embedded = embedded + (x @ w[f"fc1_{kind}.weight"].T).sum(0)
    hidden = _cell(w, 5)(embedded.relu(), memory)
    outputs, state = agent(inputs, memory)
    th.testing.assert_close(state, hidden)
    th.testing.assert_close(outputs[:, [0, 2, 4]], hidden @ w["fc2.weight"].T + w["fc2.bias"])
    made = (_entities(obs)["enemy"] @ w["hyper_enemy.0.weight"].T + w["hyper_enemy.0.bias"]).relu()
    made = made @ w["hyper_enemy.2.weight"].T + w["hyper_enemy.2.bias"]
    th.testing.assert_close(outputs[:, ATTACKS], ((made[..., :5] * hidden).sum(-1) + made[..., 5]).T)


def test_nodes_of_a_graph_send_messages_to_each_other():
    agent, inputs, memory = _agent("gnn_rnn", gnn_layer_num=2), _inputs(), th.randn(4, 5)
    w, obs = agent.state_dict(), inputs.observations["obs"]
    own = th.cat([obs[:, ITSELF], inputs.others], 1) @ w["fc1_own.weight"].T + w["fc1_own.bias"]
    nodes = [own.unsqueeze(0), *(x @ w[f"fc1_{kind}.weight"].T for kind, x in _entities(obs).items())]
    x = th.cat(nodes).relu()  # [6, 4, 5]
    for layer in ("layers.0", "layers.1"):
        others = 1 - th.eye(6)
        messages = th.einsum("ij,jph->iph", others, x @ w[f"{layer}.neighbour.weight"].T + w[f"{layer}.neighbour.bias"])
        x = ((x @ w[f"{layer}.itself.weight"].T + w[f"{layer}.itself.bias"]).relu() + messages.relu()) / 6
    hidden = _cell(w, 5)(x.mean(0), memory)
    outputs, state = agent(inputs, memory)
    th.testing.assert_close(state, hidden)
    th.testing.assert_close(outputs, hidden @ w["fc2.weight"].T + w["fc2.bias"])


def test_an_attack_is_the_product_of_two_memories():
    agent, inputs, memory = _agent("asn_rnn", asn_hidden_size=3), _inputs(), th.randn(4, 12)
    w, obs = agent.state_dict(), inputs.observations["obs"]

    def encoded(x, kind=""):
        x = (x @ w[f"fc1{kind}.weight"].T + w[f"fc1{kind}.bias"]).relu()
        return x @ w[f"fc2{kind}.weight"].T + w[f"fc2{kind}.bias"]

    first, *of_enemies = memory.split(3, 1)
    hidden = _cell(w, 3)(encoded(th.cat([obs, inputs.others], 1)), first)
    cell = _cell(w, 3, "rnn_enemy.")
    enemies = [cell(encoded(x, "_enemy"), y) for x, y in zip(_entities(obs)["enemy"], of_enemies, strict=True)]
    outputs, state = agent(inputs, memory)
    th.testing.assert_close(state, th.cat([hidden, *enemies], 1))
    th.testing.assert_close(outputs[:, [0, 2, 4]], hidden @ w["fc3.weight"].T + w["fc3.bias"])
    th.testing.assert_close(outputs[:, ATTACKS], th.stack([(hidden * enemy).sum(1) for enemy in enemies], 1))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("hpn_rnn", {"hpn_head_num": 2}),
        ("deepset_rnn", {"target_weights": True}),
        *((name, {}) for name in AGENTS if name != "hpn_rnn"),
    ],
)
def test_all_forms_compute_the_same(name, changes):
    """Of agents of `random_batch`, with observations of 5 numbers and 3 actions."""
    seen = Columns()
    seen.add(OWN, "a")
    seen.add(ENEMY, "xy", rows=2)
    meaning = Meaning(
        tuple(seen.groups), (Action("attack 1", (ENEMY, 1)), Action("wait"), Action("attack 0", (ENEMY, 0)))
    )
    small = {"rnn_hidden_dim": 5, "hpn_hyper_dim": 4, "transformer_embed_dim": 6, "asn_hidden_size": 3}
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
        SeenEntities("agent=own", {"obs": (2,), **({"x": (1,)} if groups and len(groups) > 1 else {})}, args)


def test_targets_of_healers_are_refused():
    meaning = Meaning((Group(OWN, "obs", ("a",), ((0,),)),), (Action("0", None, ("agent", 0)),))
    with pytest.raises(ConfigError, match=r"env_args\.observation=entities"):
        SeenEntities("agent=own", {"obs": (1,)}, SimpleNamespace(meaning=meaning, n_agents=1, n_actions=1))


def test_one_kind_may_be_in_several_fields():
    groups = Group("food", "obs", ("a",), ((0,), (1,))), Group("food", "more", ("a",), ((0,),))
    seen = SeenEntities(
        "own",
        {"obs": (2,), "more": (1,)},
        SimpleNamespace(meaning=Meaning(groups, (Action("eat", ("food", 2)), Action("wait"))), n_agents=1, n_actions=3),
    )
    inputs = SimpleNamespace(observations={"obs": th.tensor([[1.0, 2.0]]), "more": th.tensor([[3.0]])}, others=None)
    own, entities = seen.split(inputs.observations)
    assert own.shape == (1, 0) and entities["food"].flatten().tolist() == [1, 2, 3]
    assert seen.fixed == 2 and seen.outputs(th.tensor([[8.0, 9.0]]), [entities["food"][..., 0].T]).tolist() == [
        [3, 8, 9]
    ]


def test_own_numbers_come_before_what_is_around_where_a_network_asks_for_it():
    groups = Group(SURROUNDINGS, "obs", ("a",), ((0,),)), Group(OWN, "obs", ("b",), ((1,),))
    args = SimpleNamespace(meaning=Meaning(groups, (Action("wait"),)), n_agents=1, n_actions=1)
    inputs = SimpleNamespace(observations={"obs": th.tensor([[1.0, 2.0]])}, others=th.tensor([[3.0]]))
    for own_first, expected in ((False, [1, 2, 3]), (True, [2, 1, 3])):
        seen = SeenEntities("agent=own", {"obs": (2,), "others": (1,)}, args, own_first)
        assert seen.split(inputs.observations, inputs.others)[0].flatten().tolist() == expected


@pytest.mark.parametrize(
    ("name", "changes"),
    [*((name, {}) for name in THEIRS), ("hpn_rnn", {"hpn_head_num": 3}), ("deepset_rnn", {"target_weights": True})],
)
def test_pymarl3s_files_load(name, changes):
    sizes, numbers = pymarl3_equals.SIZES, {"obs_last_action": name != "updet", "obs_agent_id": name != "updet"}
    args = _args(name, pymarl3_equals.meaning(), **{**sizes, **numbers, **changes})
    shapes = {"obs": (sizes["obs_shape"],)}
    if name != "updet":
        shapes["others"] = (sizes["n_actions"] + sizes["n_agents"],)
    agent, other = (REGISTRY[name](shapes, args) for _ in range(2))
    for seed, network in enumerate((agent, other)):
        fill(network.parameters(), seed=seed)
    saved = pymarl3_equals.in_their_names(agent.state_dict(), {**vars(args), "agent": name})
    assert set(saved) != set(agent.state_dict())
    other.load_state_dict(saved)
    for key, weight in agent.state_dict().items():
        th.testing.assert_close(other.state_dict()[key], weight, msg=key)
