"""Q-learning of teams: one QMIX step by hand, and targets and losses against loops."""

import numpy as np
import pytest
import torch as th

from components.sampling.fields import with_more
from controllers.unroll import BatchUnroll
from fakes import RecordingLogger
from helpers import empty_batch, fill, make_args, random_batch
from learners.q_learner import QLearner
from small_learners import q_learner as make_learner
from utils.errors import ConfigError
from utils.rl_utils import valid_transitions

GAMMA = 0.9


class TableMAC:
    """A third party's controller: values of each agent's actions by the number that it observes; no `unroll`."""

    def __init__(self, table):
        self.table = th.nn.Parameter(th.tensor(table))  # [observation, agent, action]

    def init_hidden(self, batch_size):
        pass

    def forward(self, batch, t, test_mode=False):
        seen = batch["obs"][:, t, :, 0].long()
        return th.stack([self.table[seen[:, agent], agent] for agent in range(seen.size(1))], dim=1)

    def parameters(self):
        return [self.table]

    def load_state(self, other):
        self.table.data.copy_(other.table.data)


def targets_of(learner, unroll, mac_out, mask):
    rewards = learner._rewards(unroll.batch, mask, None)
    return learner._targets(unroll, mac_out, learner._target_values(unroll)[0], rewards, mask)


def _one_step_batch():
    """One episode of one step: both agents see 0, then 1; agent 0 does action 1, agent 1 action 0; reward 2."""
    batch = empty_batch(1, 2, n_actions=2, obs_shape=1, state_shape=1)
    batch.update({"obs": [[0], [0]], "state": [1.0], "avail_actions": [[1, 1], [1, 1]], "actions": [1, 0]}, ts=0)
    batch.update({"reward": [2.0]}, ts=0)
    batch.update({"obs": [[1], [1]], "state": [2.0], "avail_actions": [[1, 1], [0, 1]], "actions": [0, 1]}, ts=1)
    return batch


def _tiny_qmix():
    """QMIX with one hidden unit and every weight chosen: W1 = |s (1, -2)|, b1 = -s, Wf = |3|, V = 0.5 relu(s)."""
    args = make_args(n_actions=2, state_shape=1, mixer="qmix", mixing_embed_dim=1, gamma=GAMMA, learner_log_interval=1)
    # values: Q(0, .) of agent 0 = (1, 4), of agent 1 = (3, 0); Q(1, .) = (5, 2) and (9, 6)
    mac = TableMAC([[[1.0, 4.0], [3.0, 0.0]], [[5.0, 2.0], [9.0, 6.0]]])
    learner = QLearner(mac, {}, RecordingLogger(), args)
    values = {
        "hyper_w_1.weight": [[1.0], [-2.0]],
        "hyper_w_1.bias": [0.0, 0.0],
        "hyper_w_final.weight": [[0.0]],
        "hyper_w_final.bias": [3.0],
        "hyper_b_1.weight": [[-1.0]],
        "hyper_b_1.bias": [0.0],
        "V.0.weight": [[1.0]],
        "V.0.bias": [0.0],
        "V.2.weight": [[0.5]],
        "V.2.bias": [0.0],
    }
    learner.mixer.load_state_dict({name: th.tensor(value) for name, value in values.items()})
    learner._update_targets()
    return learner


def test_one_qmix_step_by_hand():
    """s = 1: hidden = elu(4 x 1 + 3 x 2 - 1) = 9, Q_tot = 9 x 3 + 0.5 = 27.5.
    s' = 2: agent 0 takes action 0 (5), agent 1 may only take action 1 (6):
        hidden = 5 x 2 + 6 x 4 - 2 = 32, Q_tot' = 32 x 3 + 1 = 97; target = 2 + 0.9 x 97 = 89.3.
    Error = 27.5 - 89.3 = -61.8; loss = 3819.24.
    dQ_tot/dQ_0 = 1 x 3 = 3, dQ_tot/dQ_1 = 2 x 3 = 6; d loss = 2 x -61.8 times these: -370.8 and -741.6.
    Others, times -123.6: W1 by s x Q x Wf x sign: 4 x 3 = 12 (twice: weight and bias), -(3 x 3) = -9;
        b1: 3; Wf: 9; V.2: 1 and 1, V.0: 0.5 and 0.5.
    """
    learner = _tiny_qmix()
    learner.train(_one_step_batch(), t_env=1, episode_num=0)
    logged = learner.logger.last()
    assert logged["loss"] == pytest.approx(61.8**2, rel=1e-5)
    assert logged["td_error_abs"] == pytest.approx(61.8, rel=1e-5)
    assert logged["q_taken_mean"] == pytest.approx(27.5 / 2, rel=1e-5)
    assert logged["target_mean"] == pytest.approx(89.3 / 2, rel=1e-5)
    one = np.array([3, 6, 12, 12, -9, -9, 3, 3, 9, 9, 1, 1, 0.5, 0.5])
    # weight and bias of V.0 and V.2: relu(s) = 1, so both have the same gradient
    gradient = -2 * 61.8 * one
    norm = np.linalg.norm(gradient)
    assert logged["grad_norm"] == pytest.approx(norm, rel=1e-5)

    # clipped to a norm of 10; RMSprop from rest: v = 0.01 g^2, step = lr g / (0.1 |g| + eps)
    def stepped(value, share):
        g = -2 * 61.8 * share * 10 / norm
        return value - 0.0005 * g / (np.sqrt(0.01 * g**2) + 1e-5)

    table = learner.mac.table
    assert table[0, 0, 1].item() == pytest.approx(stepped(4.0, 3), rel=1e-6)
    assert table[0, 1, 0].item() == pytest.approx(stepped(3.0, 6), rel=1e-6)
    assert table[1].tolist() == [[5.0, 2.0], [9.0, 6.0]], "targets are constants"
    w_1 = learner.mixer.hyper_w_1.weight.flatten().tolist()
    assert w_1 == pytest.approx([stepped(1, 12), stepped(-2, -9)], rel=1e-6)
    assert learner.mixer.V[0].bias.item() == pytest.approx(stepped(0, 0.5), rel=1e-5)
    assert learner.target_mixer.V[0].bias.item() == 0


@pytest.mark.parametrize(("double_q", "expected"), [(True, 5.0), (False, 50.0)])
def test_who_picks_the_action_of_the_target(double_q, expected):
    """The online values of the next state prefer action 0, the target network's action 1."""
    batch = _one_step_batch()
    batch.update({"avail_actions": [[1, 1], [1, 1]]}, ts=1)
    args = make_args(n_actions=2, state_shape=1, mixer="vdn", double_q=double_q, gamma=1.0, learner_log_interval=1)
    learner = QLearner(TableMAC(np.zeros((2, 2, 2), dtype="f")), {}, RecordingLogger(), args)
    learner.mac.table.data[1, 0] = th.tensor([2.0, 1.0])
    learner.target_mac.table.data[1, 0] = th.tensor([5.0, 50.0])
    learner.train(batch, 1, 0)
    assert learner.logger.last()["target_mean"] == pytest.approx((2 + expected) / 2)


def test_soft_targets_are_means_under_the_choosers_softmax():
    """Online values 0 and 2 ln 3 by temperature 2: 1/4 and 3/4 of the target's 8 and 4. Agent 1 has one choice."""
    batch = _one_step_batch()
    batch.update({"avail_actions": [[1, 1], [0, 1]]}, ts=1)
    args = make_args(n_actions=2, mixer=None, gamma=1.0, target_temperature=2.0, learner_log_interval=1)
    learner = QLearner(TableMAC(np.zeros((2, 2, 2), dtype="f")), {}, RecordingLogger(), args)
    learner.mac.table.data[1] = th.tensor([[0.0, 2 * np.log(3.0)], [50.0, 0.0]])
    learner.target_mac.table.data[1] = th.tensor([[8.0, 4.0], [70.0, 6.0]])
    learner.train(batch, 1, 0)
    # the mean over agents, as logged divided by their number
    assert learner.logger.last()["target_mean"] == pytest.approx(((2 + 5.0) + (2 + 6.0)) / 2 / 2, rel=1e-5)
    with pytest.raises(ConfigError, match=r"^target_temperature takes means of each agent's values, without a mixer"):
        make_learner("vdn", target_temperature=2.0)


@pytest.mark.parametrize("mixer", [None, "vdn"])
@pytest.mark.parametrize("lam", [0.0, 0.7])
@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_the_loss_is_that_of_the_transitions_taken(mixer, lam, end):
    """Brute force, episode by episode. PyMARL's VDN loss is around 1e14 for the truncated ones.

    The last episode reaches the last step.
    """
    lengths, ends = [2, 5, 4, 6], [end, "terminated", end, end]
    batch = random_batch(lengths, 7, ends=ends)
    learner, _ = make_learner(mixer, batch, td_lambda=lam, gamma=GAMMA)
    with th.no_grad():
        q, _ = learner.mac.unroll(batch)
        errors = []
        for row, length in enumerate(lengths):
            terminated = ends[row] == "terminated"
            best, taken = [], []
            for t in range(length + 1):
                legal = q[row, t].masked_fill(batch["avail_actions"][row, t] == 0, -np.inf).amax(1)
                chosen = q[row, t].gather(1, batch["actions"][row, t]).squeeze(1)
                best.append(legal.sum(0, keepdim=True) if mixer else legal)
                taken.append(chosen.sum(0, keepdim=True) if mixer else chosen)
            following = None
            for t in reversed(range(length)):
                ends_here = t == length - 1
                ahead = best[t + 1] if ends_here else (1 - lam) * best[t + 1] + lam * following
                following = batch["reward"][row, t] + GAMMA * ahead * (0 if ends_here and terminated else 1)
                errors.append(taken[t] - following)
        expected = th.cat(errors).square().mean().item()
    learner.train(batch, 1, 0)
    assert learner.logger.last()["loss"] == pytest.approx(expected, rel=1e-4)
    assert expected < 100


def test_values_are_logged_per_agent():
    """Without a mixer PyMARL divides a mean over agents by their number once more; so do we."""
    learner, batch = make_learner(None, random_batch([4], 5))
    with th.no_grad():
        q, _ = learner.mac.unroll(batch)
        taken = q[:, :4].gather(3, batch["actions"][:, :4])
    learner.train(batch, 1, 0)
    assert learner.logger.last()["q_taken_mean"] == pytest.approx(taken.mean().item() / 2, rel=1e-4)


def test_adam_by_hand():
    """Adam's first step has the size of the learning rate, for any gradient."""
    learner, batch = make_learner("vdn", optimizer="adam", optim_eps=1e-12, lr=0.01)
    before = learner.mac.agent.fc2.bias.detach().clone()
    learner.train(batch, 1, 0)
    moved = (learner.mac.agent.fc2.bias - before).abs()
    th.testing.assert_close(moved, th.full_like(moved, 0.01), rtol=1e-3, atol=0)


@pytest.mark.parametrize("optimizer", ["adam", "radam"])
def test_the_mean_of_gradients_keeps_as_much_of_the_past_as_asked(optimizer):
    learner, batch = make_learner("vdn", optimizer=optimizer, optim_beta1=0.25, grad_norm_clip=1e9)
    means, gradients = [], []
    for episode in range(2):
        learner.train(batch, 0, episode)
        weight = learner.params[0]
        gradients.append(weight.grad.clone())
        means.append(learner.optimiser.state[weight]["exp_avg"].clone())
    th.testing.assert_close(means[0], 0.75 * gradients[0])
    th.testing.assert_close(means[1], 0.25 * means[0] + 0.75 * gradients[1])


@pytest.mark.parametrize("lam", [0.0, 0.8])
def test_the_value_after_several_rewards_counts_by_their_discount(lam):
    """The field "discount" of n-step samples (`components.sampling`), in place of gamma."""
    targets = {}
    for discount in (None, [0.5, 0.25]):
        batch = random_batch([1, 1], 2, ends="truncated")
        if discount is not None:
            batch = with_more(batch, {}, {"discount": th.tensor(discount)})
        learner, batch = make_learner(batch=batch, gamma=1.0, td_lambda=lam)
        unroll, mask = BatchUnroll(batch, learner.mac), valid_transitions(batch)
        outputs = unroll.outputs(learner.mac).detach()
        targets[discount is None] = targets_of(learner, unroll, outputs, mask) - batch["reward"][:, :1]
    th.testing.assert_close(targets[False], targets[True] * th.tensor([0.5, 0.25]).view(2, 1, 1))


@pytest.mark.parametrize("lam", [0.0, 0.7])
def test_q_lambda_corrects_rewards_for_actions_that_were_not_greedy(lam):
    """By loops over the target networks' values; where every action is greedy, nothing changes."""
    learner, batch = make_learner("vdn", td_lambda=lam, q_lambda=True, gamma=GAMMA)
    fill(learner.target_mac.parameters(), seed=7)
    unroll, mask = BatchUnroll(batch, learner.mac), valid_transitions(batch)
    outputs = unroll.outputs(learner.mac).detach()
    targets = targets_of(learner, unroll, outputs, mask)
    legal = batch["avail_actions"] > 0
    best = unroll.spread(outputs).masked_fill(~legal, -np.inf).argmax(dim=-1, keepdim=True)
    values = unroll.spread(unroll.outputs(learner.target_mac)).detach()
    greedy, taken = (values.gather(3, actions).sum(dim=2)[..., 0] for actions in (best, batch["actions"]))
    for row, length in enumerate([3, 5]):
        following = 0.0
        for t in reversed(range(length)):
            goes_on = 1 - int(batch["terminated"][row, t])
            later = greedy[row, t + 1] if t == length - 1 else (1 - lam) * greedy[row, t + 1] + lam * following
            following = batch["reward"][row, t] + greedy[row, t] - taken[row, t] + GAMMA * goes_on * later
            assert float(targets[row, t]) == pytest.approx(float(following), rel=1e-4, abs=1e-5)


def test_pymarl2s_half_loss_and_its_name_for_it():
    whole, batch = make_learner("vdn", td_lambda=0.5)
    half, _ = make_learner("vdn", td_lambda=0.5, halve_loss=True, td_error_halved=True)
    for learner in (whole, half):
        learner.train(batch, 1, 0)
    first, second = whole.logger.last(), half.logger.last()
    assert second["loss"] == second["loss_td"] == pytest.approx(first["loss"] / 2, rel=1e-6)
    assert second["td_error_abs"] == second["loss"] != first["td_error_abs"]
    assert second["grad_norm"] == pytest.approx(first["grad_norm"] / 2, rel=1e-5)
    assert "loss_td" not in first


@pytest.mark.parametrize("mixer", [None, "vdn"])
def test_episodes_count_by_their_weights_and_get_priorities(mixer):
    """The loss is a weighted mean, and a priority the sum of absolute errors by the root of their number (PyMARL2)."""
    batch = random_batch([3, 5], 6, ["terminated", "truncated"])
    weights = th.tensor([1.0, 0.25])
    plain, weighed = (make_learner(mixer, batch)[0] for _ in range(2))
    errors = []
    for learner in (plain, weighed):
        loss_of = learner._loss
        learner._loss = lambda td, *rest, loss_of=loss_of: errors.append(td.detach()) or loss_of(td, *rest)
    plain.train(batch, 10, 0)
    weighed.train(with_more(batch, {}, {"weights": weights}), 10, 0)
    mask = valid_transitions(batch).expand_as(errors[0])
    expected = (mask * errors[0] ** 2 * weights.view(2, 1, 1)).sum() / mask.sum()
    assert weighed.logger.last()["loss"] == pytest.approx(float(expected), rel=1e-5)
    assert plain.new_priorities is None and weighed.new_priorities.shape == (2,)
    for row, found in enumerate(weighed.new_priorities.tolist()):
        own = errors[0][row][mask[row] > 0].abs()
        assert found == pytest.approx(float(own.sum() / np.sqrt(len(own))), rel=1e-5)
