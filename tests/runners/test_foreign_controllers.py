"""Controllers with PyMARL's other forms of `select_actions`, and batch fields that a learner declares."""

import pytest
import torch as th
from playing_on import assembled, declare_counting

from components.action_selectors import REGISTRY as selectors
from controllers import REGISTRY as controllers
from controllers.basic_controller import BasicMAC
from learners import REGISTRY as learners
from learners.base import BaseLearner
from replays.reader import read_replay
from run import run
from utils.errors import ConfigError
from utils.rl_utils import legal_policy

RUNNERS = {
    "episode": {"batch_size_run": 1},
    "parallel": {"batch_size_run": 3, "envs_per_worker": 3},
    "batched": {},
    "continuous": {"runner": "batched", "batched_mode": "continuous"},
    "rollout": {"rollout_steps": 7},
}
POLICY = {"agent_output_type": "pi_logits", "action_selector": "multinomial"}
PROBS = {"probs": {"vshape": ("n_actions",)}}


class RowlessMAC(BasicMAC):
    """As MADDPG's in EPyMARL: it answers for all episodes, and has no selector."""

    def __init__(self, scheme, groups, args):
        super().__init__(scheme, groups, args)
        self.own_selector, self.action_selector = self.action_selector, None

    def select_actions(self, ep_batch, t_ep, t_env=0, test_mode=False):
        outputs = self.forward(ep_batch, t_ep, test_mode=test_mode)
        return self.own_selector.select_action(outputs, ep_batch["avail_actions"][:, t_ep], t_env, test_mode=True)


class DemandingMAC(BasicMAC):
    """It needs the episodes that act."""

    def select_actions(self, ep_batch, t_ep, t_env, bs, test_mode):
        return super().select_actions(ep_batch, t_ep, t_env, bs, test_mode)


class TellingSelector:
    """As PyMARL2's with save_probs: it returns actions and probabilities."""

    def __init__(self, args):
        self.epsilon = 0.0

    def select_action(self, agent_inputs, avail_actions, t_env, test_mode=False):
        policy = legal_policy(agent_inputs, avail_actions)
        return policy.argmax(dim=2), policy


class WantsProbabilities(BaseLearner):
    """Declares an additional field."""

    batch_fields = PROBS


class WantsDecisions(BaseLearner):
    """Needs what comes with the actions, by name."""

    needs_acting = ("log_prob", "entropy", "greedy")
    batch_fields = PROBS


class InsistingMAC(BasicMAC):
    """Has PyMARL's `select_actions`, and returns its base's value."""

    def select_actions(self, ep_batch, t_ep, t_env, bs=slice(None), test_mode=False):
        return super().select_actions(ep_batch, t_ep, t_env, bs, test_mode)


@pytest.fixture(autouse=True)
def parts(monkeypatch):
    declare_counting(monkeypatch)
    for registry, name, part in (
        (controllers, "rowless", RowlessMAC),
        (controllers, "demanding", DemandingMAC),
        (selectors, "telling", TellingSelector),
        (learners, "wants", WantsProbabilities),
        (learners, "wants_decisions", WantsDecisions),
        (controllers, "insisting", InsistingMAC),
    ):
        monkeypatch.setitem(registry._entries, name, None)
        registry[name] = part


def played(runner, calls=3, **changes):
    settings = {"runner": runner, **RUNNERS[runner], **changes}
    with assembled(settings.pop("runner"), **settings) as parts:
        return [parts.runner.run() for _ in range(calls)], parts


@pytest.mark.parametrize("mac", ["rowless", "demanding"])
@pytest.mark.parametrize("runner", sorted(RUNNERS))
def test_a_controller_without_bs_plays_the_same_as_one_with_it(runner, mac):
    """And one that needs it; also after some of the episodes have ended."""
    for ours, theirs in zip(played(runner)[0], played(runner, mac=mac)[0], strict=True):
        for key in ours.scheme:
            # memory but for rounding: ours acts by a prepared pass
            close = th.allclose if key == "hidden_before" else th.equal
            assert close(ours[key], theirs[key]), key


def test_a_controller_without_bs_trains_is_tested_and_is_recorded(tmp_path):
    small = {"t_max": 20, "batch_size": 2, "test_nepisode": 2, "seed": 1, "local_results_path": str(tmp_path)}
    assert run({**small, "mac": "rowless", "save_replay": True}) is not None
    (path,) = tmp_path.glob("replays/*/*.jsonl")
    steps = read_replay(path).steps
    assert all(len(step["actions"]) == 2 for step in steps[:-1])
    # what it thought of its actions is its own
    assert all(step["q_values"] is None for step in steps[:-1])


@pytest.mark.parametrize("runner", sorted(RUNNERS))
@pytest.mark.parametrize("selector", ["multinomial", "soft_policies", "telling"])
def test_a_declared_field_holds_the_probabilities_that_were_acted_with(runner, selector):
    """An offered field lies in the step of the action; two closing rows of a rollout differ from whole episodes."""
    batches, parts = played(runner, learner="wants", **{**POLICY, "action_selector": selector})
    for batch in batches:
        assert batch["probs"].dtype == th.float32
        filled = batch["filled"].squeeze(2).bool()
        if runner == "rollout":
            filled[:, -1] = False
        elif runner != "continuous":
            outputs, _ = parts.mac.unroll(batch, test_mode=True)
            expected = legal_policy(outputs, batch["avail_actions"])
            th.testing.assert_close(batch["probs"][filled], expected[filled].detach())
        th.testing.assert_close(batch["probs"][filled].sum(-1), th.ones(int(filled.sum()), 2))
        assert (batch["probs"][batch["avail_actions"] == 0] == 0).all()
        assert batch["probs"][~filled].sum() == 0
        assert (batch["probs"].gather(3, batch["actions"])[filled] > 0).all()


@pytest.mark.parametrize("runner", sorted(RUNNERS))
@pytest.mark.parametrize("mac", ["basic_mac", "insisting"])
def test_the_extras_that_the_learner_needs_lie_beside_the_actions(runner, mac):
    """Whether the controller decides or selects; what is computed of the probabilities is of those that are stored."""
    for batch in played(runner, learner="wants_decisions", mac=mac, **POLICY)[0]:
        filled = batch["filled"].squeeze(2).bool()
        if runner == "rollout":
            filled[:, -1] = False
        probs = batch["probs"]
        chosen = probs.gather(3, batch["actions"])
        th.testing.assert_close(batch["log_prob"][filled], chosen[filled].log())
        entropy = -(probs * probs.clamp(min=1e-9).log()).sum(3, keepdim=True)
        th.testing.assert_close(batch["entropy"][filled], entropy[filled])
        best = probs.amax(dim=3, keepdim=True)
        assert th.equal(batch["greedy"][filled].bool(), (chosen == best)[filled])
        assert 0 < batch["greedy"][filled].float().mean() < 1
        assert not batch["log_prob"][~filled].any()


def test_a_field_reaches_the_learner_through_the_buffer(monkeypatch):
    seen = []
    monkeypatch.setattr(WantsProbabilities, "train", lambda self, batch, *_: seen.append(batch["probs"].sum()))
    run({"t_max": 10, "batch_size": 2, "test_nepisode": 1, "seed": 1, "learner": "wants", **POLICY})
    assert seen
    assert all(total > 0 for total in seen)


def test_a_missing_field_is_named():
    with pytest.raises(ConfigError, match=r"'probs', which mac=BasicMAC .*EpsilonGreedyActionSelector does not offer"):
        played("batched", learner="wants")
