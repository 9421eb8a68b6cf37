"""How many updates follow a rollout: tables made by hand, and sums over any rollouts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.update_plan import Supply, UpdatesPerRollout, UsesFromTheStart, UsesPerTransition


def test_updates_per_rollout():
    plan = UpdatesPerRollout(3)
    assert [plan.due(added) for added in (1, 500, 0)] == [3, 3, 3]


@pytest.mark.parametrize(
    ("uses", "size", "added", "due"),
    [
        (1, 10, [10, 10, 10], [1, 1, 1]),
        (4, 10, [10, 5, 0], [4, 2, 0]),
        # 0.25 * 16 = 4 of 10 are owed at first, then 8, 12, 16 - 10 = 6
        (0.25, 10, [16, 16, 16, 16], [0, 0, 1, 0]),
        (2, 32, [15, 1, 3, 45], [0, 1, 0, 3]),
        (1, 0, [7, 7], [0, 0]),
    ],
)
def test_uses_per_transition(uses, size, added, due):
    plan = UsesPerTransition(uses, lambda: size)
    assert [plan.due(count) for count in added] == due


def test_uses_may_be_owed_besides():
    plan = UsesPerTransition(1, lambda: 10)
    plan.owe(25)
    assert [plan.due(10), plan.due(0), plan.due(5)] == [3, 0, 1]
    fixed = UpdatesPerRollout(2)
    fixed.owe(25)
    assert fixed.due(10) == 2


def test_the_size_of_a_sample_may_change():
    sizes = iter([0, 20, 5])
    plan = UsesPerTransition(1, lambda: next(sizes))
    # 10 and 10 are owed until the size is known, and pay for an update; 12 for two of 5
    assert [plan.due(10), plan.due(10), plan.due(12)] == [0, 1, 2]


@given(st.sampled_from([0.125, 0.5, 1, 3.5]), st.integers(1, 50), st.lists(st.integers(0, 200), min_size=1))
def test_the_debt_is_paid_except_for_less_than_a_sample(uses, size, rollouts):
    plan, updates = UsesPerTransition(uses, lambda: size), 0
    for number, added in enumerate(rollouts, start=1):
        updates += plan.due(added)
        assert 0 <= uses * sum(rollouts[:number]) - updates * size < size


@given(st.floats(0.1, 5), st.lists(st.integers(0, 100), min_size=2))
def test_a_restored_plan_owes_the_same(uses, rollouts):
    plan, other = (UsesPerTransition(uses, lambda: 17.5) for _ in range(2))
    half = len(rollouts) // 2
    for added in rollouts[:half]:
        plan.due(added)
    other.load_state_dict(plan.state_dict())
    assert [other.due(added) for added in rollouts[half:]] == [plan.due(added) for added in rollouts[half:]]


@pytest.mark.parametrize("state", [{}, {"owed": None}, {"owed": 1.0, "more": 2}])
def test_other_states_are_refused(state):
    with pytest.raises(ValueError, match="other entries"):
        UsesPerTransition(1, lambda: 1).load_state_dict(state)


def by_linesights_loop(uses, size, rollouts):
    """Updates after each rollout, by its loop word for word; `rollouts` are supplies."""
    used = should = 0
    for now in rollouts:
        should += uses * now.new
        updates = 0
        while now.held >= now.start and used + now.start * uses <= should:
            used += 4 * size if now.filling and now.capacity > 200_000 else size
            updates += 1
        yield updates


def supplies(news, start, capacity):
    held = 0
    for new in news:
        held = min(held + new, capacity)
        yield Supply(new, held, start, held < capacity, capacity)


@pytest.mark.parametrize(
    ("news", "start", "capacity", "due"),
    [
        # 20 beyond the start owe 640 of 512 uses, and one update is lent
        ([580, 40, 16, 16, 0], 600, 10_000, [0, 2, 1, 1, 0]),
        # four uses for each while 300,000 fill: 640 - 2048 + 44 * 32 is 0, and 0 lends one
        ([580, 40, 16, 28, 1], 600, 300_000, [0, 1, 0, 1, 0]),
        ([600, 1], 600, 10_000, [1, 0]),
    ],
)
def test_linesights_pace(news, start, capacity, due):
    rollouts = list(supplies(news, start, capacity))
    left = iter(rollouts)
    plan = UsesFromTheStart(32, lambda: 512, lambda: next(left))
    # what the loop adds up, held-out transitions among it, does not count
    assert [plan.due(10**6) for _ in rollouts] == due == list(by_linesights_loop(32, 512, rollouts))
