"""Episodes of copies that do not wait for each other."""

import pytest
import torch as th
from playing_on import LENGTHS, SEED, assembled, declare_counting, length_of, play_alone

from controllers.basic_controller import BasicMAC
from envs.contract.seeds import copies_seeds
from utils.errors import ConfigError


@pytest.fixture(autouse=True)
def counting(monkeypatch):
    declare_counting(monkeypatch)


def continuous(**changes):
    return assembled("batched", batched_mode="continuous", **changes)


def order_of_ending(episodes, copies=4):
    """(copy, number) of the first `episodes` episodes that end, if every copy restarts two turns after an end."""
    ends = []
    for copy in range(copies):
        turn = 0
        for number in range(episodes):
            turn += LENGTHS[(number + copy) % len(LENGTHS)]
            ends.append((turn, copy, number))
            turn += 1  # the closing state
    return [(copy, number) for _, copy, number in sorted(ends)[:episodes]]


def test_episodes_are_those_that_each_copy_plays_alone_in_the_order_of_ending():
    with continuous() as parts:
        rows = [batch[row] for batch in (parts.runner.run() for _ in range(6)) for row in range(4)]
        alone = [play_alone(parts.mac, copy, episodes=9) for copy in range(4)]
    copies = [seed % 1000 for seed in copies_seeds(SEED, 4)]  # as observations show them
    played = [(copies.index(int(row["obs"][0, 0, 0, 0])), int(row["obs"][0, 0, 0, 1])) for row in rows]
    assert played == order_of_ending(24)
    for row, (copy, number) in zip(rows, played, strict=True):
        expected, _ = alone[copy][number]
        for key in expected.scheme:
            assert th.equal(row[key], expected[key]), (key, copy, number)


def test_steps_and_statistics_are_those_of_the_episodes_that_came():
    with continuous() as parts:
        runner = parts.runner
        for _ in range(5):
            before, batch = runner.t_env, runner.run()
            lengths = [length_of(batch[row]) for row in range(4)]
            assert runner.t_env - before == sum(lengths)
            last = runner.logger.last()
            assert last["ep_length_mean"] == sum(lengths) / 4
            assert last["return_mean"] == pytest.approx(batch["reward"].sum().item() / 4)
            assert last["won_mean"] == batch["terminated"].sum().item() / 4


def test_a_test_counts_exactly_test_nepisode_episodes():
    with continuous(test_nepisode=6) as parts:
        for _ in range(2):
            parts.runner.run(test_mode=True)
        (mean,) = parts.runner.logger.values["test_ep_length_mean"]
    first, second = ([LENGTHS[(k + b) % 5] for b in range(4)] for k in (0, 1))
    assert mean[1] == pytest.approx(sum(first + second[:2]) / 6)


class Forgetful(BasicMAC):
    """Hides its memory."""

    def init_hidden(self, batch_size):
        super().init_hidden(batch_size)
        self.hidden_states = [self.hidden_states]


def test_a_controller_with_another_memory_is_refused(monkeypatch):
    from controllers import REGISTRY

    monkeypatch.setitem(REGISTRY._entries, "forgetful", None)
    REGISTRY["forgetful"] = Forgetful
    with (
        pytest.raises(ConfigError, match=r"Forgetful .* hidden_states, .* batched_mode=synchronous"),
        continuous(mac="forgetful"),
    ):
        pass


def test_a_test_on_the_copies_of_training_drops_unfinished_episodes_only():
    def began(batch):
        return [(int(row[0]), int(row[1])) for row in batch["obs"][:, 0, 0, :2]]

    with continuous(separate_test_env=False, test_nepisode=4) as parts:
        first = parts.runner.run()
        before = parts.runner.t_env
        tested = parts.runner.run(test_mode=True)
        assert parts.runner.t_env == before
        later = [parts.runner.run() for _ in range(4)]
    copies = {seed % 1000: LENGTHS[b:] + LENGTHS[:b] for b, seed in enumerate(copies_seeds(SEED, 4))}
    # no episode twice, and none of the test in training
    played = [one for batch in (first, tested, *later) for one in began(batch)]
    assert len(set(played)) == len(played)
    for batch in (first, *later):
        for row, (copy, number) in enumerate(began(batch)):
            length = length_of(batch[row])
            assert length == copies[copy][number % len(LENGTHS)]
            assert batch["obs"][row, : length + 1, 0, 2].tolist() == list(range(length + 1))
            # nothing of a longer episode that was there before
            assert not batch["terminated"][row, length:].any()
    # one had ended when the test came, and waited for others
    copy, number = order_of_ending(5)[4]
    assert began(later[0])[0] == (list(copies)[copy], number)
