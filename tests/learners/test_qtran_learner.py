"""QTRAN-base: one step by hand, and its losses by brute force."""

import numpy as np
import pytest
import torch as th

from controllers.basic_controller import BasicMAC
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.qtran_learner import QLearner, QTRANAltLearner

GAMMA = 0.9


def make_learner(batch, cls=QLearner, **changes):
    settings = {
        "mixer": "qtran_base" if cls is QLearner else "qtran_alt",
        "rnn_hidden_dim": 3,
        "mixing_embed_dim": 4,
        "learner_log_interval": 1,
    }
    args = make_args(**{**settings, "gamma": GAMMA, **changes})
    mac = BasicMAC(batch.scheme, batch.groups, args)
    learner = cls(mac, batch.scheme, RecordingLogger(), args)
    fill(mac.parameters())
    fill(learner.mixer.parameters(), seed=1)
    learner._update_targets()
    return learner


def _constant(network, value):
    """Make a network answer `value` to any input."""
    for parameter in network.parameters():
        parameter.data.zero_()
    list(network.parameters())[-1].data.fill_(value)


def test_one_step_by_hand():
    """Constant networks: Q_jt = 3, V = 1, and every agent values its actions 2, 0.5, -1 (all legal), two agents.

    One step, terminal, reward 5, actions 1 and 2:
        L_td = (3 - 5)^2 = 4;  L_opt = (2 + 2 - 3 + 1)^2 = 4;  L_nopt = min(0, 0.5 - 1 - 3 + 1)^2 = 6.25;
        loss = 4 + 1 x 4 + 0.1 x 6.25 = 8.625.
    Gradients: of the last bias of Q, 2 x -2 = -4 (the other two losses do not move Q_jt).
        Of V: 2 x 2 + 0.1 x 2 x -2.5 = 3.5. Of an agent's last biases: action 0 from L_opt: both agents share
        them, 2 x (2 x 2) = 8; actions 1 and 2 from L_nopt: 0.1 x 2 x -2.5 = -0.5 each.
    """
    batch = random_batch([1], 2)
    batch["avail_actions"].fill_(1)
    batch.update({"actions": [1, 2], "reward": [5.0]}, ts=0)
    learner = make_learner(batch)
    _constant(learner.mixer.Q, 3.0)
    _constant(learner.mixer.V, 1.0)
    _constant(learner.mac.agent, 0.0)
    learner.mac.agent.fc2.bias.data = th.tensor([2.0, 0.5, -1.0])
    learner._update_targets()
    learner.train(batch, 1, 0)
    logged = learner.logger.last()
    expected = {"td_loss": 4, "opt_loss": 4, "nopt_loss": 6.25, "loss": 8.625, "td_error_abs": 2, "td_targets": -2}
    expected |= {"td_chosen_qs": 3, "v_mean": 1, "agent_indiv_qs": -0.25}
    assert {key: logged[key] for key in expected} == pytest.approx(expected)
    gradient = np.array([-4, 3.5, 8, -0.5, -0.5])
    norm = np.linalg.norm(gradient)
    assert logged["grad_norm"] == pytest.approx(norm, rel=1e-5)

    # clipped to 10 if above; RMSprop from rest: v = 0.01 g^2, step = lr g / (0.1 |g| + eps)
    g = gradient * min(1, 10 / norm)
    moved = -0.0005 * g / (0.1 * np.abs(g) + 1e-5)
    assert learner.mixer.Q[-1].bias.item() == pytest.approx(3 + moved[0], rel=1e-6)
    assert learner.mixer.V[-1].bias.item() == pytest.approx(1 + moved[1], rel=1e-6)
    assert learner.mac.agent.fc2.bias.tolist() == pytest.approx(np.array([2, 0.5, -1]) + moved[2:], rel=1e-6)


@pytest.mark.parametrize("arch", ["qtran_paper", "coma_critic"])
@pytest.mark.parametrize("double_q", [True, False])
def test_losses_are_those_of_the_transitions_taken(arch, double_q):
    """Brute force, episode by episode; the last one reaches the last step."""
    lengths, ends = [2, 4, 3, 5], ["truncated", "terminated", "truncated", "truncated"]
    batch = random_batch(lengths, 6, ends=ends)
    weights = {"opt_loss": 0.5, "nopt_min_loss": 0.25}
    learner, again = (make_learner(batch, qtran_arch=arch, double_q=double_q, **weights) for _ in range(2))
    for each in (learner, again):
        fill(each.target_mac.parameters(), seed=5)
        fill(each.target_mixer.parameters(), seed=6)
        # L_nopt is 0 at some steps only
        each.mixer.Q[-1].bias.data += 0.3
    learner.train(batch, 1, 0)
    logged = learner.logger.last()

    expected = {key: [] for key in ("td_loss", "opt_loss", "nopt_loss", "td_targets", "td_error_abs", "agent_indiv_qs")}
    with th.no_grad():
        q, h = again.mac.unroll(batch)
        target_q, target_h = again.target_mac.unroll(batch)
        for row, length in enumerate(lengths):
            for t in range(length):
                here, after = batch[row, t], batch[row, t + 1]
                legal = batch["avail_actions"][row] == 0
                greedy = q[row, t].masked_fill(legal[t], -np.inf).argmax(1)
                chooser = q if double_q else target_q
                next_greedy = chooser[row, t + 1].masked_fill(legal[t + 1], -np.inf).argmax(1)
                joint, v = again.mixer(here, h[row : row + 1, t : t + 1])
                best, _ = again.mixer(here, h[row : row + 1, t : t + 1], actions=th.eye(3)[greedy][None, None])
                ahead, _ = again.target_mixer(
                    after, target_h[row : row + 1, t + 1 : t + 2], actions=th.eye(3)[next_greedy][None, None]
                )
                ends_here = ends[row] == "terminated" and t == length - 1
                target = batch["reward"][row, t] + (0 if ends_here else GAMMA * ahead.item())
                error = (joint - target).item()
                expected["td_loss"].append(error**2)
                expected["td_targets"].append(error)
                expected["td_error_abs"].append(abs(error))
                max_sum = q[row, t].gather(1, greedy[:, None]).sum()
                expected["opt_loss"].append((max_sum - best + v).item() ** 2)
                taken = q[row, t].gather(1, batch["actions"][row, t])
                expected["agent_indiv_qs"].append(taken.mean().item())
                expected["nopt_loss"].append(min(0, (taken.sum() - joint + v).item()) ** 2)
    assert 0 < np.count_nonzero(expected["nopt_loss"]) < sum(lengths)
    expected = {key: np.mean(values) for key, values in expected.items()}
    expected["loss"] = expected["td_loss"] + 0.5 * expected["opt_loss"] + 0.25 * expected["nopt_loss"]
    assert {key: logged[key] for key in expected} == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_two_statistics_sum_over_padding_as_pymarls():
    """Q_jt = 3 and V = 1 in all 2 x 4 steps, of which 1 + 3 were played: 24 / 4 and 8 / 4."""
    batch = random_batch([1, 3], 5)
    learner = make_learner(batch)
    _constant(learner.mixer.Q, 3.0)
    _constant(learner.mixer.V, 1.0)
    learner.train(batch, 1, 0)
    logged = learner.logger.last()
    assert logged["td_chosen_qs"] == pytest.approx(6)
    assert logged["v_mean"] == pytest.approx(2)


@pytest.mark.parametrize("double_q", [True, False])
def test_losses_of_qtran_alt(double_q):
    """Brute force: each agent's joint value of the actions taken, and the smallest difference that its own can make."""
    lengths, ends = [2, 4, 5], ["truncated", "terminated", "truncated"]
    batch = random_batch(lengths, 6, ends=ends)
    learner, again = (make_learner(batch, QTRANAltLearner, double_q=double_q, opt_loss=0.5) for _ in range(2))
    for each in (learner, again):
        fill(each.target_mac.parameters(), seed=5)
        fill(each.target_mixer.parameters(), seed=6)
    learner.train(batch, 1, 0)
    logged = learner.logger.last()
    expected = {"td_loss": [], "opt_loss": [], "nopt_loss": []}
    with th.no_grad():
        q, h = again.mac.unroll(batch)
        target_q, target_h = again.target_mac.unroll(batch)

        def joint(mixer, memory, row, t, agent, actions):
            """Its value by an agent's network: state, the others' encodings, its own memory and number."""
            onehot = th.eye(3)[actions]
            encoded = mixer.action_encoding(th.cat([memory[row, t], onehot], dim=1))
            other = 1 - agent
            seen = th.cat([batch["state"][row, t], encoded[other], memory[row, t, agent], th.eye(2)[agent]])
            return float(mixer.Q(seen)[actions[agent]]), float(mixer.V(batch["state"][row, t]))

        for row, length in enumerate(lengths):
            for t in range(length):
                legal = batch["avail_actions"][row] > 0
                taken = batch["actions"][row, t, :, 0]
                greedy = q[row, t].masked_fill(~legal[t], -np.inf).argmax(1)
                chooser = q if double_q else target_q
                after = chooser[row, t + 1].masked_fill(~legal[t + 1], -np.inf).argmax(1)
                goes_on = not (ends[row] == "terminated" and t == length - 1)
                values = q[row, t].gather(1, taken[:, None]).squeeze(1)
                for agent in range(2):
                    ahead = joint(again.target_mixer, target_h, row, t + 1, agent, after)[0]
                    now, v = joint(again.mixer, h, row, t, agent, taken)
                    target = float(batch["reward"][row, t]) + goes_on * GAMMA * ahead
                    expected["td_loss"].append((now - target) ** 2)
                    best = joint(again.mixer, h, row, t, agent, greedy)[0]
                    most = float(q[row, t].gather(1, greedy[:, None]).sum())
                    expected["opt_loss"].append((most - best + v) ** 2)
                    differences = []
                    for action in np.flatnonzero(legal[t, agent]):
                        other = taken.clone()
                        other[agent] = int(action)
                        alone = float(q[row, t, agent, action] + values.sum() - values[agent])
                        differences.append(alone - joint(again.mixer, h, row, t, agent, other)[0] + v)
                    expected["nopt_loss"].append(min(differences) ** 2)
    expected = {key: np.mean(found) for key, found in expected.items()}
    expected["loss"] = expected["td_loss"] + 0.5 * expected["opt_loss"] + 0.1 * expected["nopt_loss"]
    assert {key: logged[key] for key in expected} == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_pymarl2s_mixed_up_memory():
    """Hidden states `[B, T, n, H]` that are read as `[B, n, T, H]`."""
    batch = random_batch([2, 3], 4)
    plain, mixed = (make_learner(batch, memory_mixed_up=mixed_up) for mixed_up in (False, True))
    values, hidden = plain._unrolled(plain.mac, batch)
    others, moved = mixed._unrolled(mixed.mac, batch)
    assert th.equal(values, others) and not th.equal(hidden, moved)
    of_agents = hidden.flatten(1, 2).unflatten(1, (2, 4))
    assert all(th.equal(moved[:, t, agent], of_agents[:, agent, t]) for t in range(4) for agent in range(2))
