"""Chunks of equal length against a plain loop over each copy, and what a learner makes of them."""

from copy import deepcopy

import pytest
import torch as th
from playing_on import assembled, declare_counting, play_alone

from checks import check_config
from controllers.basic_controller import BasicMAC
from controllers.unroll import BatchUnroll, unroll_mac
from utils.config.merging import default_config, recursive_dict_update
from utils.errors import ConfigError
from utils.rl_utils import episode_starts, valid_transitions

STEPS, CHUNKS = 7, 5
OBSERVED = ("obs", "state", "avail_actions")
TAKEN = ("actions", "actions_onehot", "reward", "terminated", "truncated")


@pytest.fixture(autouse=True)
def counting(monkeypatch):
    declare_counting(monkeypatch)


def rollouts(**changes):
    return assembled("rollout", rollout_steps=STEPS, **changes)


def columns_of(alone):
    """For a copy, one after another: (episode, step) of every column if it were one endless chunk."""
    return [(number, t) for number, (batch, _) in enumerate(alone) for t in range(int(batch["filled"].sum()))]


def test_chunks_equal_each_copy_played_alone():
    """Chunk by chunk, the closing states of episodes that end with a chunk are not repeated in the next."""
    with rollouts() as parts:
        chunks = [parts.runner.run() for _ in range(CHUNKS)]
        alone = [play_alone(parts.mac, copy, episodes=12) for copy in range(4)]
    boundaries = set()
    for copy in range(4):
        columns, place = columns_of(alone[copy]), 0
        for chunk in chunks:
            assert chunk["filled"].all()
            for t in range(STEPS + 1):
                number, step = columns[place + t]
                episode, hidden = alone[copy][number]
                length = len(hidden) - 1
                where = f"copy {copy}, episode {number}, step {step}, column {t}"
                for key in OBSERVED:
                    assert th.equal(chunk[key][copy, t], episode[key][0, step]), where
                if t == 0:
                    th.testing.assert_close(chunk["hidden_before"][copy], hidden[step])
                    last = episode["actions_onehot"][0, step - 1] if step else th.zeros(2, 3)
                    assert th.equal(chunk["last_actions_before"][copy], last), where
                if t == STEPS:
                    boundaries.add("closing" if step == length else "begins" if step == 0 else "within")
                elif step < length:
                    for key in TAKEN:
                        assert th.equal(chunk[key][copy, t], episode[key][0, step]), where
                else:
                    outcome = [chunk[key][copy, t].item() for key in ("reward", "terminated", "truncated")]
                    assert outcome == [0, 0, 0], where
            number, step = columns[place + STEPS]
            closing = step == len(alone[copy][number][1]) - 1
            place += STEPS + closing
    assert boundaries == {"closing", "begins", "within"}


def test_the_mask_leaves_out_closing_states_only():
    with rollouts() as parts:
        for _ in range(CHUNKS):
            before, chunk = parts.runner.t_env, parts.runner.run()
            mask, starts = valid_transitions(chunk).squeeze(2), episode_starts(chunk)
            ended = (chunk["terminated"] + chunk["truncated"]).squeeze(2)
            for row in range(4):
                for t in range(STEPS):
                    closing = t > 0 and ended[row, t - 1]
                    assert mask[row, t] == (0 if closing else 1)
                    # an observation contains the step of its episode
                    assert starts[row, t] == (t > 0 and chunk["obs"][row, t, 0, 2] == 0)
            assert parts.runner.t_env - before == mask.sum()


class ByItsOwnSteps(BasicMAC):
    """Has its own forward, and is unrolled step by step."""

    def forward(self, ep_batch, t, test_mode=False):
        return super().forward(ep_batch, t, test_mode)


@pytest.mark.parametrize("mac", ["basic_mac", "by_steps"])
@pytest.mark.parametrize("agent", ["rnn", "ff", "rnn_layernorm"])
def test_a_learner_sees_the_outputs_that_acting_saw(monkeypatch, mac, agent):
    from controllers import REGISTRY

    monkeypatch.setitem(REGISTRY._entries, "by_steps", None)
    REGISTRY["by_steps"] = ByItsOwnSteps
    with rollouts(mac=mac, agent=agent) as parts:
        acting = []
        forward = parts.mac.agent.forward

        def recorded(inputs, hidden):
            out = forward(inputs, hidden)
            acting.append([x.detach().reshape(4, 2, -1) for x in out])
            return out

        for _ in range(CHUNKS):
            acting.clear()
            monkeypatch.setattr(parts.mac.agent, "forward", recorded)
            chunk = parts.runner.run()
            monkeypatch.setattr(parts.mac.agent, "forward", forward)
            unroll = BatchUnroll(chunk, parts.mac)
            assert unroll.packed == (mac == "basic_mac")
            outputs, hidden = unroll_mac(parts.mac, chunk)
            assert len(acting) == STEPS
            expected = th.stack([out for out, _ in acting], dim=1)
            th.testing.assert_close(outputs[:, :STEPS], expected)
            th.testing.assert_close(unroll.spread(unroll.outputs(parts.mac))[:, :STEPS], expected)
            if agent != "ff":
                th.testing.assert_close(hidden[:, :STEPS], th.stack([state for _, state in acting], dim=1))


def test_rollouts_go_through_the_buffer_as_they_are():
    with rollouts(buffer_size=4, batch_size=4) as parts:
        for _ in range(2):
            chunk = parts.runner.run()
            parts.teams[0].buffer.insert(chunk)
            sample = parts.teams[0].buffer.sample()
            for key in chunk.scheme:
                assert th.equal(sample[key], chunk[key]), key
            assert int(sample.max_t_filled()) == STEPS + 1


def test_statistics_are_those_of_the_episodes_that_ended():
    with rollouts() as parts:
        runner, brought = parts.runner, 0
        for _ in range(CHUNKS):
            runner.run()
            brought += runner.episodes_brought
        alone = [play_alone(parts.mac, copy, episodes=12) for copy in range(4)]
        figures = runner.logger.values["ep_length_mean"]
        returns = runner.logger.values["return_mean"]
    ended = []
    for copy in range(4):
        place = turn = 0
        columns = columns_of(alone[copy])
        for _ in range(CHUNKS):
            for t in range(STEPS):
                number, step = columns[place + t]
                episode = alone[copy][number][0]
                if step == int(episode["filled"].sum()) - 2:
                    ended.append((turn // STEPS, step + 1, episode["reward"].sum().item()))
                turn += 1
            number, step = columns[place + STEPS]
            place += STEPS + (step == int(alone[copy][number][0]["filled"].sum()) - 1)
    assert brought == len(ended)
    for chunk in range(CHUNKS):
        lengths = [length for where, length, _ in ended if where == chunk]
        assert figures[chunk][1] == pytest.approx(sum(lengths) / len(lengths))
        sums = [total for where, _, total in ended if where == chunk]
        assert returns[chunk][1] == pytest.approx(sum(sums) / len(sums))


# runners whose training plays on from call to call
PLAYING_ON = {
    "rollout": {"runner": "rollout", "rollout_steps": STEPS},
    "continuous": {"runner": "batched", "batched_mode": "continuous"},
}


@pytest.mark.parametrize("runner", PLAYING_ON)
def test_tests_play_whole_episodes_and_training_continues_where_it_was(runner):
    runs = []
    for tests in (0, 2):
        with assembled(test_nepisode=4, **PLAYING_ON[runner]) as parts:
            batches = [parts.runner.run()]
            for _ in range(tests):
                test = parts.runner.run(test_mode=True)
                assert (test["obs"][:, 0, 0, 2] == 0).all() and "hidden_before" not in test.scheme
                assert test["filled"].sum(1).flatten().tolist() != [STEPS + 1] * 4
                # a learner uses the controller, too
                parts.mac.init_hidden(7)
            runs.append([*batches, parts.runner.run()])
            assert len(parts.runner.logger.values["test_return_mean"]) == tests
    for with_tests, without in zip(*runs, strict=True):
        for key in without.scheme:
            assert th.equal(with_tests[key], without[key]), key


@pytest.mark.parametrize("runner", PLAYING_ON)
def test_a_process_that_plays_tests_only_begins_no_episode_of_training(runner):
    """As the learner's beside collectors: its copies for training may share a simulator with those of tests."""
    with assembled(**PLAYING_ON[runner]) as parts:
        env = parts.runner.env
        parts.runner.run(test_mode=True)
        assert {copy.episode for copy in env.env.copies} == {-1}
        state = parts.runner.state_dict()
        parts.runner.load_state_dict(state)
        parts.runner.run()
        assert {copy.episode for copy in env.env.copies} != {-1}


def test_learners_from_whole_episodes_are_refused():
    changes = {"env": "skirmish", "runner": "rollout", "learner": "coma_learner", "agent_output_type": "pi_logits"}
    config = recursive_dict_update(default_config(), {**changes, "action_selector": "multinomial"})
    with pytest.raises(ConfigError, match=r"learner=coma_learner .* runner=rollout"):
        check_config(config)


def test_a_test_on_the_copies_of_training_drops_the_episodes_in_progress():
    """The next rollout says so by a first column that is not filled, and starts other episodes behind it."""
    with rollouts(separate_test_env=False, test_nepisode=4, lengths=(5,)) as parts:
        runner = parts.runner
        first = runner.run()
        before, returns = runner.t_env, list(runner.train_returns)
        tests = runner.run(test_mode=True)
        assert (runner.t_env, runner.train_returns) == (before, returns)
        assert runner.logger.values["test_ep_length_mean"] == [(before, 5)]
        state = deepcopy(runner.state_dict())
        second, third = runner.run(), runner.run()
        assert runner.t_env - before == valid_transitions(second).sum() + valid_transitions(third).sum()
    numbers = [[int(batch["obs"][0, t, 0, 1]) for t in range(batch.max_seq_length)] for batch in (first, tests, second)]
    # seven steps and a closing state: the second episode has two steps when the test comes
    assert numbers[0] == [0] * 6 + [1] * 2 and numbers[1][0] == 2 and numbers[2] == [3] * 7 + [4]
    assert second["filled"][:, :, 0].tolist() == [[0] + [1] * STEPS] * 4
    assert second["obs"][:, :, 0, 2].tolist() == [[0, 0, 1, 2, 3, 4, 5, 0]] * 4
    assert not second["hidden_before"].any() and episode_starts(second)[:, 1].all()
    assert third["filled"].all()
    with rollouts(separate_test_env=False, test_nepisode=4, lengths=(5,)) as parts:
        parts.runner.load_state_dict(state)
        again = parts.runner.run()
    for key in second.scheme:
        assert th.equal(again[key], second[key]), key


def test_a_test_between_episodes_drops_nothing():
    """Each rollout ends with the closing states of all copies."""
    with assembled("rollout", rollout_steps=5, separate_test_env=False, test_nepisode=4, lengths=(5,)) as parts:
        parts.runner.run()
        parts.runner.run(test_mode=True)
        assert parts.runner.run()["filled"].all()


def test_a_rollout_of_one_step_after_a_test_has_a_step():
    with assembled("rollout", rollout_steps=1, separate_test_env=False, test_nepisode=4, lengths=(5,)) as parts:
        for test_mode in (False, True, False):
            batch = parts.runner.run(test_mode)
        assert batch["filled"].all() and (batch["obs"][:, 0, 0, 2] == 0).all() and parts.runner.t_env == 8
