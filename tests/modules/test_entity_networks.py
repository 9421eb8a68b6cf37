"""Networks over entities of any number: attention by loops, who is hidden, and weights that fit other maps."""

import pytest
import torch as th

from controllers.inputs import StepInputs
from envs import REGISTRY as ENVS
from envs.contract.declarations import spec_of
from helpers import fill, make_args
from modules.agents import REGISTRY as AGENTS
from modules.attention import EntityAttention
from modules.mixers import REGISTRY as MIXERS
from modules.pooling import EntityPooling
from modules.unshared import unshare
from utils.errors import ConfigError
from utils.meanings import AGENT, ALLY, ENEMY, ITSELF, LAST_ACTIONS, OWN, SURROUNDINGS, Action, Columns, Meaning

SMALL = {"rnn_hidden_dim": 6, "attn_embed_dim": 8, "attn_heads": 2}
SMALL |= {"hypernet_embed": 8, "mixing_embed_dim": 5, "mixer_heads": 2}
SMALL |= {"pool_dim": 3, "key_dim": 2}
SMALL |= {"transformer_embed_dim": 6, "transformer_heads": 2, "mixer_depth": 2}
OURS = ("entity_attend_rnn", "transf", "pooled_rnn")
STATE_MIXERS = ("flex_qmix", "transf")


def meaning_of(agents=2, enemies=3):
    """Agents of 3 numbers, whom the first says to be alive, and enemies of 2, with other numbers between them."""
    seen, state = Columns(), Columns("state")
    seen.add(SURROUNDINGS, ["time"])
    seen.add(ENEMY, ["seen", "x"], enemies, there="seen", of=ENEMY)
    seen.add(ALLY, ["x", "seen"], agents - 1, there="seen", of=AGENT)
    seen.add(OWN, ["health"], of=ITSELF)
    state.add(ENEMY, ["health", "x"], enemies, there="health")
    state.add(SURROUNDINGS, ["time"])
    state.add(AGENT, ["x", "health", "y"], agents, there="health")
    state.add(LAST_ACTIONS, ["wait", "attack"], agents)
    actions = Action("wait"), *(Action(f"attack {e}", (ENEMY, e)) for e in range(enemies)), Action("stop")
    return Meaning(tuple(seen.groups), actions, tuple(state.groups))


def args_of(part, kind, meaning=None, **changes):
    meaning = meaning or meaning_of()
    n = meaning.entities[0].rows
    size = 1 + max(column for group in meaning.state for row in group.columns for column in row)
    sizes = {"n_agents": n, "n_actions": len(meaning.actions), "state_shape": size}
    return make_args(**{kind: part, **sizes, **SMALL, "meaning": meaning, **changes})


def agent_of(name="entity_attend_rnn", meaning=None, seed=3, **changes):
    args = args_of(name, "agent", meaning, **changes)
    size = 1 + max(column for group in args.meaning.groups for row in group.columns for column in row)
    agent = AGENTS[name]({"obs": (size,)}, args)
    fill(agent.parameters(), seed=seed)
    return agent


def mixer_of(name="flex_qmix", meaning=None, seed=3, **changes):
    mixer = MIXERS[name](args_of(name, "mixer", meaning, **changes))
    fill(mixer.parameters(), seed=seed)
    return mixer


def affine(w, name, x):
    return x @ w[f"{name}.weight"].T + w.get(f"{name}.bias", 0)


def attended(w, name, asking, tokens, heads=2):
    """What one token finds in a list of others, head by head."""
    if not tokens:
        return w[f"{name}.unify.bias"]
    size = len(asking)
    keys, values = affine(w, f"{name}.keys_values", th.stack(tokens)).split(size, 1)
    query, found = affine(w, f"{name}.queries", asking), []
    for part in th.arange(size).chunk(heads):
        shares = th.stack([(query[part] * key[part]).sum() / len(part) ** 0.5 for key in keys]).softmax(0)
        found.append(sum(share * value[part] for share, value in zip(shares, values, strict=True)))
    return affine(w, f"{name}.unify", th.cat(found))


def test_attention_by_a_loop():
    layer = EntityAttention(8, 2)
    asking, entities = th.randn(2, 3, 8), th.randn(5, 3, 8)
    allowed = th.rand(3, 2, 5) > 0.5
    allowed[1, 0], allowed[2, 1] = False, True
    found = layer(asking, entities, allowed)
    w = {f"a.{key}": x for key, x in layer.state_dict().items()}
    for q in range(2):
        for row in range(3):
            tokens = [entities[e, row] for e in range(5) if allowed[row, q, e]]
            th.testing.assert_close(found[q, row], attended(w, "a", asking[q, row], tokens))
    with pytest.raises(ConfigError, match="3 attention heads do not divide 8 numbers"):
        EntityAttention(8, 3)


def seen_by_agents(rows=6, seed=1):
    """Observations of `meaning_of()`: time, three enemies, an ally, itself."""
    generator = th.Generator().manual_seed(seed)
    obs = th.randn(rows, 10, generator=generator)
    obs[:, [1, 3, 5, 8]] = (th.rand(rows, 4, generator=generator) > 0.4).float()
    return obs


@pytest.mark.parametrize("hidden", [False, True])
def test_an_agent_attends_to_whom_it_sees(hidden):
    agent, obs, memory = agent_of(), seen_by_agents(), th.randn(6, 6)
    kept = th.rand(6, 5) > 0.4 if hidden else None
    outputs, state = agent(StepInputs({"obs": obs}, None, kept), memory)
    w = agent.state_dict()
    for p in range(6):
        me = affine(w, "fc1_own", obs[p, [0, 9]]).relu()
        enemies = [affine(w, "fc1.of_enemy", obs[p, [k, k + 1]]).relu() for k in (1, 3, 5)]
        ally = affine(w, "fc1.of_ally", obs[p, [7, 8]]).relu()
        shown = [True, *(bool(obs[p, k] > 0) for k in (1, 3, 5, 8))]
        shown = [one and (kept is None or bool(kept[p, k])) for k, one in enumerate(shown)]
        tokens = [token for token, one in zip([me, *enemies, ally], shown, strict=True) if one]
        cell = th.nn.GRUCell(6, 6)
        cell.load_state_dict({key.removeprefix("rnn."): x for key, x in w.items() if key.startswith("rnn.")})
        hidden_state = cell(affine(w, "fc2", attended(w, "attention", me, tokens)).relu(), memory[p])
        th.testing.assert_close(state[p], hidden_state)
        wait, stop, attack = affine(w, "fc3", hidden_state)
        expected = [wait]
        for enemy, one in zip(enemies, shown[1:4], strict=True):
            product = affine(w, "query_enemy", hidden_state) @ affine(w, "key_enemy", enemy) / 8**0.5
            expected.append(attack + product * one)
        th.testing.assert_close(outputs[p], th.stack([*expected, stop]))


def pooled(w, name, entities):
    """Of the lists of entities of two kinds, those that are there."""
    found = []
    for kind, rows in entities:
        embedded = [affine(w, f"{name}.embedding.of_{kind}", x).relu() for x in rows] or [th.zeros(3)]
        largest = [max(row[k] for row in embedded) for k in range(3)]
        found += [sum(embedded) / len(embedded), th.stack(largest), th.tensor([len(rows) + 1.0]).log()]
    return th.cat(found)


def test_an_agent_pools_whom_it_sees():
    agent, obs, memory = agent_of("pooled_rnn"), seen_by_agents(), th.randn(6, 6)
    outputs, state = agent(StepInputs({"obs": obs}, None), memory)
    w = agent.state_dict()
    for p in range(6):
        enemies = [obs[p, [k, k + 1]] for k in (1, 3, 5)]
        seen = [x for x in enemies if x[0] > 0], [obs[p, [7, 8]]] if obs[p, 8] > 0 else []
        known = pooled(w, "pool", zip((ENEMY, ALLY), seen, strict=True))
        cell = th.nn.GRUCell(6, 6)
        cell.load_state_dict({key.removeprefix("rnn."): x for key, x in w.items() if key.startswith("rnn.")})
        hidden_state = cell(affine(w, "fc2", th.cat([obs[p, [0, 9]], known])).relu(), memory[p])
        th.testing.assert_close(state[p], hidden_state)
        wait, stop, attack = affine(w, "fc3", hidden_state)
        embedded = [affine(w, "pool.embedding.of_enemy", x).relu() * (x[0] > 0) for x in enemies]
        keys = [affine(w, "pool.keys.of_enemy", x) for x in embedded]
        products = [affine(w, "query_enemy", hidden_state) @ key / 2**0.5 for key in keys]
        th.testing.assert_close(outputs[p], th.stack([wait, *(attack + x for x in products), stop]))


@pytest.mark.parametrize("shared", [True, False])
def test_pools_of_all_rows_at_once_are_those_of_the_seen_ones(shared):
    """Where not to wait for a GPU, rows of nobody are computed and struck out."""
    pool, there = EntityPooling({ENEMY: 2, ALLY: 4}, 3, [ALLY], 2), th.rand(6, 5) > 0.5
    there[2], there[3] = False, True
    if not shared:
        unshare(pool, 2, "agents")
    entities = {ENEMY: th.randn(3, 6, 2), ALLY: th.randn(2, 6, 4)}
    found, keys = pool(entities, there)
    parts = []
    for kind, here in ((ENEMY, there[:, :3]), (ALLY, there[:, 3:])):
        e = (pool.embedding.of(kind)(entities[kind]).relu() * here.T.unsqueeze(2)).transpose(0, 1)
        parts += [
            e.sum(1) / here.sum(1, keepdim=True).clamp(min=1),
            e.amax(1),
            here.sum(1, keepdim=True).float().log1p(),
        ]
    th.testing.assert_close(found, th.cat(parts, 1))
    th.testing.assert_close(keys[ALLY], pool.keys.of(ALLY)(e.transpose(0, 1)).transpose(0, 1).flatten(1))
    assert not found[2].any() and pool.outputs == found.size(1) and list(keys) == [ALLY]


@pytest.mark.parametrize("name", OURS)
def test_entities_that_are_not_seen_change_nothing(name):
    agent, obs = agent_of(name), seen_by_agents()
    memory = th.randn(6, agent.init_hidden().size(1))
    changed = obs.clone()
    for there, other in ((1, 2), (3, 4), (5, 6), (8, 7)):
        changed[:, other] += 5 * (obs[:, there] == 0)
    assert not th.equal(changed, obs)
    outputs, after = agent(StepInputs({"obs": obs}, None), memory)
    again, after_again = agent(StepInputs({"obs": changed}, None), memory)
    legal = [0, 4]  # of enemies that are not seen, attacks are not
    assert th.equal(outputs[:, legal], again[:, legal]) and th.equal(after, after_again)
    for column, action in ((1, 1), (3, 2), (5, 3)):
        assert th.equal(outputs[obs[:, column] > 0, action], again[obs[:, column] > 0, action])
    changed[:, 2] += 1
    assert not th.equal(agent(StepInputs({"obs": changed}, None), memory)[1], after)


@pytest.mark.parametrize("name", OURS)
def test_normalised_numbers_say_nothing_of_who_is_there(name):
    with pytest.raises(ConfigError, match=f"agent={name}: set normalise_observations=False"):
        agent_of(name, normalise_observations=True)


def states_of(rows=4, agents=2, enemies=3, seed=1):
    """States of `meaning_of()` `[1, rows, S]`, of whose units some are not alive."""
    generator = th.Generator().manual_seed(seed)
    states = th.randn(1, rows, 2 * enemies + 1 + 3 * agents + 2 * agents, generator=generator)
    healths = [*range(0, 2 * enemies, 2), *range(2 * enemies + 2, 2 * enemies + 1 + 3 * agents, 3)]
    states[..., healths] = (th.rand(1, rows, len(healths), generator=generator) > 0.4).float()
    return states


@pytest.mark.parametrize("softmax", [True, False])
def test_a_mixers_weights_are_made_by_attention(softmax):
    mixer = mixer_of(softmax_mixing_weights=softmax)
    states, qs = states_of(), th.randn(1, 4, 4)
    groups = th.rand(1, 4, 5) > 0.5
    w = mixer.state_dict()

    def positive(x):
        return x.softmax(-1) if softmax else x.abs()

    def of_agents(name, tokens, there, looks):
        """A row for each living agent, or None."""
        rows = []
        for i in range(2):
            embedded = [affine(w, f"{name}.fc1.of_{kind}", x).relu() for kind, x in tokens]
            shown = [x for j, x in enumerate(embedded) if there[j] and looks(i, j)]
            rows.append(
                affine(w, f"{name}.fc2", attended(w, f"{name}.attention", embedded[i], shown)) if there[i] else None
            )
        return rows

    def mixed(t, values, *looks):
        s = states[0, t]
        tokens = [(AGENT, s[7 + 3 * i : 10 + 3 * i]) for i in range(2)] + [
            (ENEMY, s[2 * e : 2 * e + 2]) for e in range(3)
        ]
        there = [bool(x[1 if kind == AGENT else 0] > 0) for kind, x in tokens]

        def mean(name):
            rows = [x for x in of_agents(name, tokens, there, lambda i, j: True) if x is not None]
            return sum(rows) / len(rows) if rows else th.zeros(5)

        hidden = mean("hyper_b_1")
        rows = [row for look in looks for row in of_agents("hyper_w_1", tokens, there, look)]
        for value, row in zip(values, rows, strict=True):
            hidden = hidden + (0 if row is None else value * positive(row))
        hidden = th.nn.functional.elu(hidden)
        return (hidden * positive(mean("hyper_w_final"))).sum() + mean("V").mean()

    plain, imagined = mixer(qs[..., :2], states), mixer.imagined(qs, states, groups)
    for t in range(4):
        th.testing.assert_close(plain[0, t, 0], mixed(t, qs[0, t, :2], lambda i, j: True))
        same = groups[0, t, :, None] == groups[0, t]
        looks = [lambda i, j, of=of: of[i, j] for of in (same, ~same)]
        th.testing.assert_close(imagined[0, t, 0], mixed(t, qs[0, t], *looks))


def normalised(w, name, x):
    x = (x - x.mean()) / (x.var(correction=0) + 1e-5).sqrt()
    return x * w[f"{name}.weight"] + w[f"{name}.bias"]


def transformed(w, tokens, shown, heads=2):
    """Tokens of one row behind two blocks, token by token; `shown`: who is attended to."""
    for block in ("blocks.0", "blocks.1"):
        size, after = len(tokens[0]), []
        made = [affine(w, f"{block}.queries_keys_values", x).split(heads * size) for x in tokens]
        for query, _, _ in made:
            found = []
            for part in th.arange(heads * size).chunk(heads):
                products = [(query[part] @ key[part]) / size**0.5 for _, key, _ in made]
                shares = th.stack([x for x, one in zip(products, shown, strict=True) if one]).softmax(0)
                values = [value[part] for (_, _, value), one in zip(made, shown, strict=True) if one]
                found.append(sum(share * value for share, value in zip(shares, values, strict=True)))
            after.append(affine(w, f"{block}.unify", th.cat(found)))
        tokens = [normalised(w, f"{block}.norm1", x + y) for x, y in zip(tokens, after, strict=True)]
        inner = [affine(w, f"{block}.ff2", affine(w, f"{block}.ff1", x).relu()) for x in tokens]
        tokens = [normalised(w, f"{block}.norm2", x + y) for x, y in zip(tokens, inner, strict=True)]
    return tokens


def test_actions_come_from_what_becomes_of_tokens():
    agent, obs, memory = agent_of("transf"), seen_by_agents(), th.randn(6, 6)
    outputs, state = agent(StepInputs({"obs": obs}, None), memory)
    w = agent.state_dict()
    for p in range(6):
        me = affine(w, "own_embedding", obs[p, [0, 9]])
        enemies = [affine(w, "embedding.of_enemy", obs[p, [k, k + 1]]) for k in (1, 3, 5)]
        ally = affine(w, "embedding.of_ally", obs[p, [7, 8]])
        shown = [True, True, *(bool(obs[p, k] > 0) for k in (1, 3, 5, 8))]
        after, _, *targets = transformed(w, [memory[p], me, *enemies, ally], shown)
        th.testing.assert_close(state[p], after)
        wait, stop = affine(w, "q_basic", after)
        attacks = [affine(w, "q_target_enemy", x)[0] for x in targets[:3]]
        th.testing.assert_close(outputs[p], th.stack([wait, *attacks, stop]))


@pytest.mark.parametrize("name", OURS)
def test_memories_are_handed_on_from_step_to_step(name):
    """Of episodes of 3, 2 and 1 steps: a sequence is as one step after another."""
    agent, sizes = agent_of(name), [6, 4, 2]
    hidden = agent.init_hidden().expand(6, -1)
    steps = [seen_by_agents()[:size] + 0.1 * t for t, size in enumerate(sizes)]
    encoded = agent.encode(StepInputs({"obs": th.cat(steps)}, None))
    outputs, states = agent.sequence(encoded, sizes, hidden)
    expected = []
    for obs in steps:
        found, hidden = agent(StepInputs({"obs": obs}, None), hidden[: len(obs)])
        expected.append((found, hidden))
    th.testing.assert_close(outputs, th.cat([found for found, _ in expected]))
    th.testing.assert_close(states.view(12, -1), th.cat([state for _, state in expected]).view(12, -1))


def test_weights_are_tokens_that_are_handed_on():
    mixer, states, (qs, memory) = mixer_of("transf"), states_of(), inputs_of("transf")
    found, w = mixer(qs, states, memory), mixer.state_dict()
    handed_on = [th.zeros(6)] * 3
    for t in range(4):
        s = states[0, t]
        agents, enemies = [s[7 + 3 * i : 10 + 3 * i] for i in range(2)], [s[2 * e : 2 * e + 2] for e in range(3)]
        alive = [bool(x[1] > 0) for x in agents]
        known = [affine(w, "embedding.of_agent", x) for x in agents]
        known += [affine(w, "embedding.of_enemy", x) for x in enemies]
        shown = [*alive, *(bool(x[0] > 0) for x in enemies), *alive, True, True, True]
        *_, row_0, row_1, b_1, w_2, b_2 = transformed(w, [*known, *memory[0, t], *handed_on], shown)
        handed_on = [b_1, w_2, b_2]
        hidden = b_1 + sum(q * row.abs() * one for q, row, one in zip(qs[0, t], (row_0, row_1), alive, strict=True))
        expected = th.nn.functional.elu(hidden) @ w_2.abs() + affine(w, "hyper_b2", b_2)[0]
        th.testing.assert_close(found[0, t, 0], expected)


def inputs_of(name, agents=2, rows=4, seed=2):
    """What a mixer takes beside states."""
    generator = th.Generator().manual_seed(seed)
    qs = th.randn(1, rows, agents, generator=generator)
    return (qs, th.randn(1, rows, agents, 6, generator=generator)) if name == "transf" else (qs,)


@pytest.mark.parametrize("name", STATE_MIXERS)
def test_entities_that_are_not_there_change_no_mixing(name):
    mixer, states, (qs, *more) = mixer_of(name), states_of(rows=8), inputs_of(name, rows=8)
    changed = states.clone()
    for health, other in ((0, 1), (2, 3), (4, 5), (8, 7), (11, 12)):
        changed[..., other] += 5 * (states[..., health] == 0)
    assert not th.equal(changed, states)
    th.testing.assert_close(mixer(qs, changed, *more), mixer(qs, states, *more), rtol=0, atol=0)
    dead = (states[..., [8, 11]] == 0).float()
    assert dead.any()
    th.testing.assert_close(mixer(qs + 3 * dead, states, *more), mixer(qs, states, *more), rtol=0, atol=0)
    changed[..., 1] += 1
    assert not th.equal(mixer(qs, changed, *more), mixer(qs, states, *more))


@pytest.mark.parametrize("name", STATE_MIXERS)
def test_rows_without_an_entity_change_no_mixing(name):
    """As of a map with fewer units than the arrays have rows."""
    states, (qs, *more) = states_of(), inputs_of(name)
    small, large = mixer_of(name), mixer_of(name, meaning_of(4, 5))
    padded = th.zeros(1, 4, 10 + 1 + 12 + 8)
    padded[..., :6], padded[..., 10:17] = states[..., :6], states[..., 6:13]
    wide = [th.cat([x, th.randn(1, 4, 2, *x.shape[3:])], 2) for x in (qs, *more)]
    th.testing.assert_close(large(wide[0], padded, *wide[1:]), small(qs, states, *more))


@pytest.mark.parametrize("name", STATE_MIXERS)
def test_the_team_gains_from_what_any_agent_gains(name):
    mixer, states, (qs, *more) = mixer_of(name), states_of(), inputs_of(name)
    qs.requires_grad_()
    mixer(qs, states, *more).sum().backward()
    alive = states[..., [8, 11]] > 0
    assert (qs.grad[alive] > 0).all() and alive.any() and not qs.grad[~alive].any()


@pytest.mark.parametrize("name", STATE_MIXERS)
@pytest.mark.parametrize(
    ("meaning", "size", "words"),
    [
        (None, 17, "does not say which entities its state has"),
        (Meaning((), (), ()), 17, "does not say which entities its state has"),
        (meaning_of(3), 30, "does not say which entities its state has"),
        (meaning_of(), 12, "names number 12 of a state of 12 numbers"),
    ],
)
def test_states_of_unknown_entities_are_refused(name, meaning, size, words):
    args = args_of(name, "mixer", state_shape=size)
    args.meaning = meaning
    with pytest.raises(ConfigError, match=f"mixer={name}: .*{words}"):
        MIXERS[name](args)


@pytest.mark.parametrize("observation", ["flat", "entities"])
def test_weights_of_one_map_fit_another(observation):
    found = {}
    for map_name in ("3m", "8m"):
        env = ENVS["skirmish"](map_name=map_name, observation=observation, seed=1)
        spec = spec_of(env)
        seen = {key: field.shape for key, field in spec.of_kind("observation").items() if field.group}
        sizes = {key: spec.env_info[key] for key in ("n_agents", "n_actions")}
        sizes["state_shape"] = spec.fields["state"].shape[0]
        found[map_name] = (
            {
                name: AGENTS[name](seen, make_args(agent=name, **sizes, meaning=spec.env_info["meaning"]))
                for name in OURS
            },
            {
                name: MIXERS[name](make_args(mixer=name, mixing_embed_dim=8, **sizes, meaning=spec.env_info["meaning"]))
                for name in STATE_MIXERS
            },
        )
    for of_small, of_large in zip(found["3m"], found["8m"], strict=True):
        for name, network in of_small.items():
            fill(network.parameters(), seed=1)
            of_large[name].load_state_dict(network.state_dict())
