"""Transforms against brute force, over rollouts and episodes whose frames have numbers."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th
from hypothesis import given, settings
from hypothesis import strategies as st

from components.sampling import REGISTRY
from components.sampling.compose import Compose, TransformContext
from components.sampling.fields import with_more
from components.sampling.listed import listed_transforms
from fakes import RecordingLogger
from helpers import make_args, random_batch
from numbered_play import NumberedPlay
from utils.rl_utils import gae as gae_of

SEEDS = st.integers(0, 2**32 - 1)


def chain(*transforms, debug=False, last=("columns", "steps", "parts"), form="columns", console=None, **args):
    info = TransformContext("sample_transforms", make_args(gamma=0.9, **args), console)
    return Compose(listed_transforms("sample_transforms", transforms, form, last), info, debug)


def played(seed, steps=6, rows=3):
    return NumberedPlay(rows, np.random.default_rng(seed)).rollout(steps)


def with_values(batch, seed=0):
    values = th.from_numpy(np.random.default_rng(seed).normal(size=batch["reward"].shape)).float()
    return with_more(batch, {"value": values})


def following(batch, row, t):
    """The steps of an episode from step t on: (step, reward, terminated, truncated); none from a closing state."""
    found = []
    for step in range(t, batch.max_seq_length - 1):
        ended_before = step > 0 and bool(batch["terminated"][row, step - 1] or batch["truncated"][row, step - 1])
        if ended_before:
            break
        ends = bool(batch["terminated"][row, step]), bool(batch["truncated"][row, step])
        found.append((step, float(batch["reward"][row, step]), *ends))
        if any(ends):
            break
    return found


@settings(deadline=None)
@given(SEEDS)
def test_returns_go_to_the_end(seed):
    batch = with_values(played(seed))
    found, without = chain("returns")(batch), chain("returns")(played(seed))
    for row in range(3):
        for t in range(6):
            taken = following(batch, row, t)
            total = sum(0.9**k * reward for k, (_, reward, _, _) in enumerate(taken))
            bootstrap = 0.0
            if taken and not taken[-1][2]:
                bootstrap = 0.9 ** len(taken) * float(batch["value"][row, taken[-1][0] + 1])
            assert float(without["returns"][row, t]) == pytest.approx(total, abs=1e-4)
            assert float(found["returns"][row, t]) == pytest.approx(total + bootstrap, abs=1e-4)
        assert not found["returns"][row, -1].any()


@settings(deadline=None)
@given(SEEDS, st.floats(0, 1))
def test_advantages_are_the_weighted_errors_that_follow(seed, gae_lambda):
    batch = with_values(played(seed))
    values = batch["value"][:, :, 0]
    found = chain({"gae": {"gae_lambda": gae_lambda}})(batch)
    for row in range(3):
        for t in range(6):
            expected = 0.0
            for k, (step, reward, terminated, _) in enumerate(following(batch, row, t)):
                ahead = 0.0 if terminated else 0.9 * float(values[row, step + 1])
                expected += (0.9 * gae_lambda) ** k * (reward + ahead - float(values[row, step]))
            assert float(found["advantages"][row, t]) == pytest.approx(expected, abs=1e-3)
            if following(batch, row, t):
                assert float(found["returns"][row, t]) == pytest.approx(expected + float(values[row, t]), abs=1e-3)


def test_digideeps_figures():
    """Rewards of 1, masks 0 1 1 0 1 (the third step ends an episode), as its own code computes them."""
    values = th.tensor([0.5, 0.4, 0.3, 0.2, 0.1]).view(1, 5, 1)
    ones, terminated = th.ones(1, 4, 1), th.tensor([0.0, 0.0, 1.0, 0.0]).view(1, 4, 1)
    advantages, returns = gae_of(ones, terminated, ones, values, 0.99, 0.95)
    assert returns.flatten().tolist() == pytest.approx([2.8588068, 1.95535, 1.0, 1.099])
    normalised = (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-5)
    assert normalised.flatten().tolist() == pytest.approx([1.5117968, 0.2729987, -1.0458105, -0.7389851])


def test_normalised_advantages_have_mean_0_and_deviation_1_over_valid_transitions():
    batch = with_values(random_batch([2, 5], 7))
    found = chain({"gae": {"normalise": True}})(batch)["advantages"][:, :-1, 0]
    valid = th.tensor([[1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0]]) > 0
    assert float(found[valid].mean()) == pytest.approx(0, abs=1e-6)
    assert float(found[valid].std(correction=0)) == pytest.approx(1, abs=1e-4)
    assert not found[~valid].any()


def test_columns_and_rows():
    batch = random_batch([2, 5], 7)
    assert th.equal(chain({"last_chunk": {"steps": 3}})(batch)["obs"], batch["obs"][:, 3:])
    assert chain({"last_chunk": {"steps": 30}})(batch).max_seq_length == 7
    assert th.equal(chain({"truncate": {"columns": 2}})(batch)["obs"], batch["obs"][:, :5])
    flat = chain("truncate", "flatten")(batch)
    expected = th.cat([batch["obs"][0, :3], batch["obs"][1, :6]])
    assert th.equal(flat["obs"], expected.unsqueeze(1))
    assert flat.max_seq_length == 1


def test_minibatches_have_every_row_once_a_pass():
    np.random.seed(0)
    batch = random_batch([2, 5, 1, 4], 7)
    parts = list(chain({"recurrent_minibatches": {"parts": 2, "epochs": 3}})(batch))
    assert [part.batch_size for part in parts] == [2] * 6
    assert all(part is not other for part, other in itertools.pairwise(parts))  # Digideep's defect 16
    for one, other in zip(parts[::2], parts[1::2], strict=True):
        seen = th.cat([one["reward"], other["reward"]]).sum((1, 2))
        assert sorted(seen.tolist()) == pytest.approx(sorted(batch["reward"].sum((1, 2)).tolist()))
    single = list(chain("flatten", {"shuffled_minibatches": {"parts": 4}})(batch))
    assert sorted(x for part in single for x in part["reward"].flatten().tolist()) == sorted(
        batch["reward"][batch["filled"] > 0].tolist()
    )


def test_units_after_minibatches_are_called_for_each():
    transform = chain({"recurrent_minibatches": {"parts": 3}}, {"normalise": {"fields": ["obs"]}})
    assert [part.batch_size for part in transform(random_batch([2, 5, 1], 7))] == [1, 1, 1]
    assert float(next(iter(transform.stateful.values()))._norms["obs"].count) == (3 + 6 + 2) * 10


def test_normalise_goes_by_all_that_passed_and_leaves_padding_alone():
    transform, batches = chain({"normalise": {"fields": ["obs"]}}), [random_batch([2, 5], 7, seed=k) for k in range(3)]
    for batch in batches:
        found = transform(batch)
    seen = np.concatenate([batch["obs"][batch["filled"].squeeze(2) > 0].numpy().ravel() for batch in batches])
    expected = (batches[-1]["obs"] - seen.mean()) / seen.std()
    filled = batches[-1]["filled"].squeeze(2) > 0
    np.testing.assert_allclose(found["obs"][filled], expected[filled], atol=1e-5)
    assert not found["obs"][~filled].any()
    other = chain({"normalise": {"fields": ["obs"]}})
    other.load_state_dict(transform.state_dict())
    assert th.equal(other(batches[0])["obs"], transform(batches[0])["obs"])


def test_rewards_are_scaled_by_the_deviation_of_returns_so_far():
    """Of each episode's discounted sums up to every step, over both rollouts and across their border."""
    play, transform = NumberedPlay(2, np.random.default_rng(3)), chain({"scale_rewards": {"gamma": 0.5}})
    first, second = play.rollout(4), play.rollout(3)
    transform(first)
    found = transform(second)
    returns = []
    for row in range(2):
        total = 0.0
        for batch in (first, second):
            for t in range(batch.max_seq_length - 1):
                frame = int(batch["obs"][row, t, 0, 0])
                if frame in play.steps:  # not a closing state
                    total = 0.5 * total + float(batch["reward"][row, t])
                    returns.append(total)
                    if play.steps[frame].terminated or play.steps[frame].truncated:
                        total = 0.0
    np.testing.assert_allclose(found["reward"], second["reward"] / np.std(returns), rtol=1e-5)


def test_rewards_are_kept_within_bounds_and_those_of_the_batch_stay():
    batch = random_batch([3, 5], 7)
    before = batch["reward"].clone()
    found = chain({"clip_rewards": {"most": 0.25}})(batch)["reward"]
    np.testing.assert_allclose(found, np.clip(before.numpy(), -0.25, 0.25))
    assert (before.abs() > 0.25).any() and th.equal(batch["reward"], before)


class TestDebugging:
    def broken(self):
        batch = random_batch([2, 5], 7)
        batch["obs"][1, 3, 0, 2] = float("nan")
        return batch

    def test_check_nan_names_unit_file_field_and_index(self):
        from utils.errors import MusterError

        with pytest.raises(
            MusterError, match=r"sample_transforms, before its first transform: obs\[3, 0, 2\] of episode 1 "
        ):
            chain("check_nan", "truncate")(self.broken())
        with pytest.raises(MusterError, match=r"after 'truncate' \(windows.py:\d+\): obs\[3, 0, 2\] of episode 1"):
            chain("truncate", "check_nan")(self.broken())

    def test_one_key_looks_between_all_units(self):
        """The transform that makes the fault is the one that is named."""
        from utils.errors import MusterError

        def breaks(batch, info):
            return with_more(batch, {"obs": batch["obs"] / 0})

        def grows(batch, info):
            return with_more(batch, {"obs": batch["obs"][..., :1]})

        for function, name, fault in ((breaks, "breaks", "is -?(inf|nan)"), (grows, "grows", "instead of")):
            REGISTRY[name] = function
            try:
                assert chain("truncate", name, "truncate")(random_batch([2, 5], 7))
                with pytest.raises(MusterError, match=rf"after '{name}' \(test_sampling.py:\d+\): obs.*{fault}"):
                    chain("truncate", name, "truncate", debug=True)(random_batch([2, 5], 7))
            finally:
                del REGISTRY[name]

    def test_shapes_and_statistics_are_logged(self):
        lines = []
        console = SimpleNamespace(info=lines.append)
        looking = chain("check_shape", {"check_stats": {"every": 2}}, console=console)
        batch = random_batch([2, 5], 7)
        for _ in range(3):
            looking(batch)
        shapes = [line for line in lines if "obs [2, 7, 2, 5]" in line]
        assert len(shapes) == 1
        filled = batch["reward"][batch["filled"] > 0]
        stats = [line for line in lines if f"reward {filled.mean():.4g} +- {filled.std(correction=0):.4g}" in line]
        assert len(stats) == 2
        assert f"in {filled.min():.4g}..{filled.max():.4g}" in stats[0]
        looking(random_batch([2], 4))
        assert len([line for line in lines if "obs [1, 4, 2, 5]" in line]) == 1


def test_every_unit_that_is_built_in_is_tried_here_or_elsewhere():
    """A new transform needs a test: this list is kept by hand."""
    tried = {"n_step", "returns", "gae", "last_chunk", "truncate", "flatten", "recurrent_minibatches"}
    tried |= {
        "shuffled_minibatches",
        "normalise",
        "scale_rewards",
        "clip_rewards",
        "check_nan",
        "check_shape",
        "check_stats",
    }
    tried |= {"next_states", "window"}  # tests/components/buffers/test_with_transforms.py
    tried |= {"mini_race", "potential_shaping", "random_crop", "normalise_image"}  # beside this file
    tried |= {"permuted_entities"}  # beside this file, too
    tried |= {"cut_rows"}  # tests/learners/test_rollout_parts.py
    tried |= {"cut_across"}  # tests/learners/test_pymarlzoo_policies.py
    assert {name for name in REGISTRY if REGISTRY.entry(name).declared} == tried
    assert RecordingLogger().console_logger is not None
