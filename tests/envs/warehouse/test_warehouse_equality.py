"""The warehouse is rware's, step for step, from the package's own first states; and its conflicts are networkx's."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import rware_episodes
from envs.rware import ids
from envs.rware.batch import Warehouses
from envs.rware.kernel.ties import order_of_set
from envs.rware.state import EMPTY, FORWARD, TOGGLE_LOAD, table_size

CASES = rware_episodes.read()
AHEAD = {0: (0, -1), 1: (0, 1), 2: (-1, 0), 3: (1, 0)}


def cell_of(warehouses, x, y):
    xs, ys = warehouses.places()
    return np.flatnonzero((xs == x) & (ys == y))[0]


def begun(case):
    warehouses = Warehouses(1, seed=0, **ids.arguments(f"rware:{case.key}", **case.words))
    warehouses.reset()
    for agent, (x, y, direction) in zip(warehouses.state.agents[0], case.agents, strict=True):
        agent["cell"], agent["direction"] = cell_of(warehouses, x, y), direction
    warehouses.state.requested[0] = 0
    warehouses.state.requested[0, case.requests] = 1
    warehouses.refresh()
    return warehouses


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join([case.key, *case.words]))
def test_recorded_episodes(case):
    """What is requested after deliveries is drawn; here it is what the package has drawn."""
    warehouses = begun(case)
    assert rware_episodes.checksum(warehouses.outputs.obs[0]) == case.checksums[0]
    for t, actions in enumerate(case.actions):
        drawn = case.draws[case.draws[:, 0] == t, 1]
        warehouses.state.next_requests[0, : len(drawn)] = drawn
        outputs = warehouses.step(actions[None].astype(np.int64))
        warehouses.state.next_requests[0] = EMPTY
        assert_array_equal(outputs.rewards[0], case.rewards[t], f"step {t}")
        assert (outputs.terminated[0] or outputs.truncated[0]) == case.ended[t]
        assert rware_episodes.checksum(outputs.obs[0]) == case.checksums[t + 1], f"step {t}"
    assert outputs.terminated[0] == ("max_inactivity_steps" in case.words), "time that is up truncates"
    assert warehouses.state.copies["draws"][0] == begun(case).state.copies["draws"][0], "no other draws"


def test_what_has_been_recorded():
    """At least 20 ids, with deliveries, and loads that are brought back."""
    assert len({case.key for case in CASES if not case.words}) >= 20
    assert sum(case.rewards.any() for case in CASES) > 30
    assert sum(len(case.draws) for case in CASES) > 500
    assert sum(len(case.ended) for case in CASES) > 15000
    assert any((case.rewards == 0.5).any() for case in CASES)


def wanted(warehouses, b, actions):
    """The cells of all agents, and those that they want, as tuples (x, y)."""
    xs, ys = warehouses.places()
    state, inside = warehouses.state, {*warehouses.world.inside.tolist()}
    starts, targets = [], []
    for agent, action in zip(state.agents[b], actions, strict=True):
        x, y = int(xs[agent["cell"]]), int(ys[agent["cell"]])
        starts.append((x, y))
        dx, dy = AHEAD[int(agent["direction"])] if action == FORWARD else (0, 0)
        target = cell_of(warehouses, x + dx, y + dy)
        other = state.agent_at[b, target]
        blocked = agent["shelf"] != EMPTY and state.shelf_at[b, target] != EMPTY
        if blocked and other and state.agents[b, other - 1]["shelf"] != EMPTY:
            blocked = False
        targets.append((x + dx, y + dy) if target in inside and not blocked else (x, y))
    return starts, targets


def winners(starts, targets):
    """The cells whose agents may move or act, with the order of cells that networkx has, by Python's own sets."""
    ahead = dict(zip(starts, targets, strict=True))
    nodes = list(dict.fromkeys(cell for pair in zip(starts, targets, strict=True) for cell in pair))
    behind = {cell: [start for start in starts if ahead[start] == cell] for cell in nodes}
    seen, won = set(), set()
    for first in nodes:
        if first in seen:
            continue
        found = [first]
        for cell in found:  # grows
            for near in ([ahead[cell]] if cell in ahead else []) + behind[cell]:
                if near not in found:
                    found.append(near)
        component = set()
        for cell in found:
            component.add(cell)
        seen |= component
        shown = set(cell for cell in component)  # noqa: C401  (as networkx makes it)
        order = list(shown) if 2 * len(shown) < len(nodes) else [cell for cell in nodes if cell in shown]
        chain = [first]
        while (cell := ahead.get(chain[-1])) is not None and cell not in chain:
            chain.append(cell)
        if cell is not None:
            ring = chain[chain.index(cell) :]
            won |= {*ring} if len(ring) != 2 else set()
        else:
            won |= {*longest(chain[-1], behind, order)}
    return won


def longest(end, behind, order):
    chains = [longest(cell, behind, order) for cell in sorted(behind[end], key=order.index)]
    return [*max(chains, key=len, default=[]), end]


def moved(warehouses, actions):
    """Plays a step, in which those move who should. Returns how many have moved."""
    expected = []
    for b in range(len(actions)):
        starts, targets = wanted(warehouses, b, actions[b])
        won = winners(starts, targets)
        ends = [target if start in won else start for start, target in zip(starts, targets, strict=True)]
        assert len({*ends}) == len(starts)
        expected.append([cell_of(warehouses, x, y) for x, y in ends])
    before = warehouses.state.agents["cell"].copy()
    warehouses.step(actions)
    assert_array_equal(warehouses.state.agents["cell"], expected)
    return (warehouses.state.agents["cell"] != before).sum()


@pytest.mark.parametrize(("n_agents", "steps"), [(4, 40), (12, 25), (30, 12), (80, 4)])
def test_conflicts(n_agents, steps):
    """Lively play, in which queues of the same length meet often."""
    rng, copies = np.random.default_rng(n_agents), 12
    warehouses = Warehouses(copies, seed=n_agents, key="rware-tiny-4ag-v2", n_agents=n_agents)
    warehouses.reset()
    warehouses.step(np.full((copies, n_agents), TOGGLE_LOAD))
    kinds = [0.03, 0.7, 0.09, 0.09, 0.09]
    assert sum(moved(warehouses, rng.choice(5, p=kinds, size=(copies, n_agents))) for _ in range(steps)) > 100


def test_two_queues_meet():
    """Queues of two that come from both sides: the order of all agents decides."""
    places = [(2, 0, 3), (3, 0, 3), (5, 0, 2), (6, 0, 2)]  # x, y, direction
    orders = list(permutations(places))
    warehouses = Warehouses(len(orders), seed=0, key="rware-tiny-4ag-v2")
    warehouses.reset()
    for agents, order in zip(warehouses.state.agents, orders, strict=True):
        for agent, (x, y, direction) in zip(agents, order, strict=True):
            agent["cell"], agent["direction"] = cell_of(warehouses, x, y), direction
    warehouses.refresh()
    assert moved(warehouses, np.full((len(orders), 4), FORWARD)) == 2 * len(orders)


def test_sets_have_the_order_of_pythons():
    rng, cells = np.random.default_rng(0), [(x, y) for y in range(40) for x in range(40)]
    hashes = np.array([hash(cell) for cell in cells])
    for count in (1, 4, 5, 12, 19, 20, 40, 77, 300, 1500):
        chosen = rng.choice(len(cells), count, replace=False)
        nodes, expected = np.zeros((2, count), np.int32), set()
        nodes[0] = chosen
        for k in chosen:
            expected.add(cells[k])
        order_of_set(count, nodes, np.zeros(table_size(count), np.int32), hashes)
        assert [cells[k] for k in nodes[0]] == list(expected)
