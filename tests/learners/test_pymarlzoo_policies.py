"""What PyMARLzoo+'s HAPPO, MAT-Dec and CommFormer do otherwise than ours, by hand."""

import numpy as np
import pytest
import torch as th
from test_actor_critic import LAST, TablePolicy, V, learner_of, with_log_prob
from test_pqn_learner import rollout

from checks import check_config
from cli.compose import compose_config
from components.sampling.parts import cut_across, with_fields
from controllers.mat_controller import MATMAC
from controllers.policy_controller import PolicyMAC
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners import critics_apart
from learners.ppo_learner import PPOLearner
from utils.errors import ConfigError
from utils.numbers.running_statistics import ValueNorm


@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_advantages_go_past_the_closing_state(end):
    """Step 2 is the closing state, what is filled behind it is another episode; gamma 0.9, lambda 0.5."""
    batch = rollout(5, [end])
    learner = learner_of(PPOLearner, TablePolicy(), batch.scheme, gae_past_ends=True, gae_past_closing=True)
    fourth = LAST + V[3]
    third = 0.9 * (0.5 * V[3] + 0.5 * fourth)
    second = 2 + 0.9 * (0.5 * V[2] + 0.5 * third)
    first = 1 + 0.9 * (0.5 * V[1] + 0.5 * second)
    np.testing.assert_allclose(learner.estimates(batch)["returns"][0, :, 0], [first, second, third, fourth], rtol=1e-6)


def rows_of(**fields):
    """A minibatch of such fields, as losses see it."""
    return {key: th.tensor(values).view(1, -1, 1) for key, values in fields.items()}


def losses_of(**changes):
    batch = with_log_prob(rollout(5, ["terminated"]), th.zeros(1, 5, 2, 1))
    settings = {"normalise_values": True, "value_norm_beta": 0.5, **changes}
    return learner_of(PPOLearner, TablePolicy(), batch.scheme, **settings)


def test_errors_beyond_delta_count_to_one_side():
    """Values 6 too low have 2 * (2 * 6 - 2), those 5 too high nothing; those 1 too high their square."""
    part = rows_of(returns=[0.0, 0.0, 0.0], old_values=[0.0] * 3, mask=[1.0, 1.0, 1.0])
    values = th.tensor([-6.0, 5.0, 1.0]).view(1, 3, 1)
    for one_sided, expected in ((True, [20, 0, 1]), (False, [20, 16, 1])):
        learner = losses_of(huber_delta=2.0, huber_one_sided=one_sided, value_clip=False)
        assert learner.value_loss(part, 0.2, values).item() == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("passes", [1, 2])
def test_moments_take_in_the_returns_of_each_minibatch(passes):
    """The weight of the past is 0.5, so after one pass and after two the moments are those of these returns.

    A second minibatch weighs 2/3 of both after one pass each, 4/5 after two passes each; in the error of the clipped
    value, after the first of its two passes, 4/7.
    """
    learner = losses_of(value_norm_passes=passes, value_clip=True)
    assert learner.estimator.normalised_later
    first = rows_of(returns=[1.0, 3.0], old_values=[0.0, 0.0], mask=[1.0, 1.0])
    zeros = th.zeros(1, 2, 1)
    assert learner.value_loss(first, 0.2, zeros).item() == pytest.approx(1.0), "1 and 3 are a deviation from 2"
    second = rows_of(returns=[6.0, 6.0], old_values=[0.0, 0.0], mask=[1.0, 1.0])
    found = learner.value_loss(second, 0.2, th.ones(1, 2, 1)).item()

    def normalised(weight):
        mean = weight * 6 + (1 - weight) * 2
        return (6 - mean) / np.sqrt(weight * 36 + (1 - weight) * 5 - mean**2)

    last, clipped = (2 / 3, 2 / 3) if passes == 1 else (4 / 5, 4 / 7)
    expected = max((normalised(last) - 1) ** 2, (normalised(clipped) - 0.2) ** 2)
    assert found == pytest.approx(expected, rel=1e-5)


def test_returns_keep_their_units_until_then():
    batch = rollout(5, ["terminated"])
    plain = learner_of(PPOLearner, TablePolicy(), batch.scheme)
    later = losses_of(value_norm_passes=1)
    later.estimator.value_norm.update(th.tensor([0.0, 2.0]))  # mean 1, deviation 1
    found = later.estimates(batch)["returns"]
    second, third = 2.0, 4 + 0.9 * 2.0
    np.testing.assert_allclose(found[0, :, 0], [1 + 0.9 * (0.5 * 2.0 + 0.5 * second), second, 0, third], rtol=1e-6)
    assert not th.allclose(found, plain.estimates(batch)["returns"])
    later.train(with_log_prob(batch, th.zeros(1, 5, 2, 1)), 10, 0)
    logged = later.logger.last()
    assert logged["target_mean"] == pytest.approx(float(found[0, [0, 1, 3], 0].mean())), "of what was really done"
    norm, values = later.estimator.value_norm, th.tensor([V[0], V[1], V[3]])
    errors = (values - norm.normalize(found[0, [0, 1, 3], 0])).abs()
    assert logged["td_error_abs"] == pytest.approx(float(errors.mean()), rel=1e-5), "in the units of values"


@pytest.mark.parametrize("what", ["nothing", "values", "all"])
def test_padding_is_learned_from(what):
    """Steps 0, 1 and 3 were done, 2 is the closing state; actions 0 and 1 are legal everywhere."""
    mac, batch = TablePolicy(), with_log_prob(rollout(5, ["terminated"]), th.full((1, 5, 2, 1), float(np.log(0.5))))
    learner = learner_of(PPOLearner, mac, batch.scheme, learn_padding=what, value_clip=False, entropy_in_pg_loss=False)
    found = learner.estimates(batch)
    errors = np.array([1 + 0.9 * (0.5 * V[1] + 0.5 * 2) - V[0], 2 - V[1], 0 - V[2], LAST])
    learner.train(batch, 10, 0)
    p = np.exp([0.3, -0.2]) / np.exp([0.3, -0.2]).sum()
    entropy = -(p * np.log(p)).sum()
    ratio, done = p[0] / 0.5, np.array([1, 1, 0, 1])
    gains = np.minimum(ratio * errors, np.clip(ratio, 0.8, 1.2) * errors)
    last = learner.logger.last()
    squares = {"nothing": (errors**2 * done).sum() / 3}.get(what, (errors**2).mean())
    assert last["critic_loss"] == pytest.approx(squares, rel=1e-5)
    assert last["pg_loss"] == pytest.approx(-(gains.mean() if what == "all" else (gains * done).sum() / 3), rel=1e-5)
    assert last["entropy"] == pytest.approx(entropy * (3 / 4 if what == "values" else 1), rel=1e-5)
    assert found["advantages"][0, 2, 0].item() == pytest.approx(errors[2] if what == "all" else 0)
    assert (mac.logits.grad[2].abs().sum() > 0) == (what == "all")


def test_padding_has_no_policy():
    """As above with `all`, but step 3 is not filled: its ratio is 1, its entropy 0, and its return 0."""
    batch = with_log_prob(rollout(5, ["terminated"]), th.full((1, 5, 2, 1), float(np.log(0.5))))
    batch["filled"][:, 3:], batch["log_prob"][:, 3:] = 0, 0
    mac = TablePolicy()
    learner = learner_of(PPOLearner, mac, batch.scheme, learn_padding="all", value_clip=False)
    learner.train(batch, 10, 0)
    errors = np.array([1 + 0.9 * (0.5 * V[1] + 0.5 * 2) - V[0], 2 - V[1], 0 - V[2], 0 - V[3]])
    p = np.exp([0.3, -0.2]) / np.exp([0.3, -0.2]).sum()
    ratios = np.array([*[p[0] / 0.5] * 3, 1])
    gains = np.minimum(ratios * errors, np.clip(ratios, 0.8, 1.2) * errors)
    last = learner.logger.last()
    assert last["pg_loss"] == pytest.approx(-gains.mean(), rel=1e-5)
    assert last["entropy"] == pytest.approx(-(p * np.log(p)).sum() * 3 / 4, rel=1e-5)
    assert last["critic_loss"] == pytest.approx((errors**2).mean(), rel=1e-5)
    assert mac.logits.grad[3].abs().sum() == 0 and mac.logits.grad[2].abs().sum() > 0


def test_advantages_are_by_values_of_acting():
    """Of a transformer whose values see the others' actions, those that know none."""
    batch = with_log_prob(episodes(), th.full((3, 6, 2, 1), -1.0))
    sizes = {key: batch.scheme[field]["vshape"] for key, field in (("obs_shape", "obs"), ("state_shape", "state"))}
    given = {"agent": "mat_dec_actions", "mac": "mat_mac", "critic": "trunk", "n_embd": 8, "n_head": 2, "n_block": 1}
    args = make_args(**given, **sizes, obs_last_action=False, normalise_values=False)
    mac = MATMAC(batch.scheme, batch.groups, args)
    fill(mac.parameters(), scale=0.4)
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    found, other = learner.estimates(batch), episodes()
    other["actions_onehot"].zero_()
    with th.no_grad():
        known = [learner.evaluate_actions(learner.sample(one, {})).values for one in (batch, other)]
    done = found["mask"] > 0
    th.testing.assert_close(found["old_values"][done], known[1][done], rtol=1e-4, atol=1e-5)
    assert ((found["old_values"] - known[0])[done].abs() > 1e-5).all()


def test_values_of_closing_states_are_those_of_the_present_weights():
    """Of whole episodes, whose values of acting are 5 here: three, five and four steps."""
    batch = with_log_prob(episodes(), th.full((3, 6, 2, 1), -1.0))
    given = {"agent": "mat_dec", "mac": "mat_mac", "critic": "trunk", "n_embd": 8, "n_head": 2, "n_block": 1}
    args = make_args(**given, obs_shape=batch.scheme["obs"]["vshape"], obs_last_action=False, use_rollout_values=True)
    mac = MATMAC(batch.scheme, batch.groups, args)
    fill(mac.parameters(), scale=0.4)
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    present = learner.values(batch)
    batch.scheme["value"] = batch.scheme["log_prob"]
    batch.data.transition_data["value"] = th.full((3, 6, 2, 1), 5.0)
    found = learner.values(batch)
    for row, length in enumerate((3, 5, 4)):
        assert (found[row, :length] == 5).all() and th.equal(found[row, length:], present[row, length:])
        assert (present[row, length] != 0).all()


def test_rows_across_environments():
    """Two entries of three steps: places 0 to 5 are (step 0, entry 0), (0, 1), (1, 0), ...; parts of 4 leave two."""
    batch = random_batch([3, 2], 4, ["terminated", "terminated"])
    numbers = th.tensor([[0.0, 2, 4], [1, 3, 5]]).unsqueeze(2)
    resets = th.tensor([[0.0, 0, 1], [0, 1, 0]]).unsqueeze(2)
    fields = {"advantages": numbers, "resets": resets, "filled": th.ones(2, 3, 1, dtype=th.long)}
    constant = {"hidden_before": th.zeros(2, 3, 1), "of_entry": th.tensor([[7.0], [8.0]])}
    sample = with_fields(batch, ["obs"], 3, fields, constant)

    class Context:
        @staticmethod
        def known(steps):
            return {"hidden_before": 10 + numbers[:, steps].unsqueeze(2).expand(-1, -1, 3, -1)}

    made = cut_across(sample, Context, 2)
    assert made["advantages"].squeeze(2).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert made["starts"].squeeze(2).tolist() == [[0, 0], [0, 1], [1, 0]]
    assert made["hidden_before"][:, 0, 0].tolist() == [10, 12, 0], "nothing is remembered where memories start"
    assert made["of_entry"].flatten().tolist() == [7, 7, 7] and "resets" not in made.scheme
    th.testing.assert_close(made["obs"][1, 1], batch["obs"][1, 1])
    four = cut_across(sample, Context, 4)
    assert four["advantages"].squeeze(2).tolist() == [[0, 1, 2, 3]] and four["of_entry"].tolist() == [[7.0]]
    assert cut_across(sample, Context, 10)["advantages"].squeeze(2).tolist() == [[0, 1, 2, 3, 4, 5]]


SETTINGS = {"agent": "rnn_mappo", "critic": "state_mappo", "rnn_hidden_dim": 6, "critic_hidden_dim": 6}


def team(batch, **changes):
    apart = {"share_params": False, "share_critic_params": False, "critic_agent_id": False, "obs_agent_id": False}
    sizes = {key: batch.scheme[field]["vshape"] for key, field in (("obs_shape", "obs"), ("state_shape", "state"))}
    given = {**SETTINGS, **apart, **sizes, "obs_last_action": False, "update_order": "fixed", "learner_log_interval": 1}
    args = make_args(**{**given, **changes})
    mac = PolicyMAC(batch.scheme, batch.groups, args)
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    for seed, network in enumerate((mac.agent, learner.critic)):
        fill(network.parameters(), scale=0.4, seed=seed)
    return learner


def episodes():
    return random_batch([3, 5, 4], 6, ["terminated", "truncated", "truncated"])


def test_the_networks_of_mappos_code():
    """Every layer by PyTorch's functions, of each agent, step by step."""
    batch = episodes()
    learner = team(batch)
    n = batch["obs"].size(2)
    with th.no_grad():
        outputs, values = learner.mac.unroll(batch)[0], learner.values(batch)

    def layer(weights, name, x):
        x = th.relu(weights[f"{name}.0.weight"] @ x + weights[f"{name}.0.bias"])
        return th.nn.functional.layer_norm(x, (6,), weights[f"{name}.2.weight"], weights[f"{name}.2.bias"])

    for i in range(n):
        for network, kind, last, seen in (
            (learner.mac.agent, "agents", "fc3", batch["obs"][0, :, i]),
            (learner.critic, "critics", "v_out", batch["state"][0]),
        ):
            start = f"{kind}.{i}."
            own = {name.removeprefix(start): x for name, x in network.state_dict().items() if name.startswith(start)}
            cell = th.nn.GRUCell(6, 6)
            cell.load_state_dict({name.removeprefix("rnn."): x for name, x in own.items() if name.startswith("rnn.")})
            hidden = th.zeros(1, 6)
            for t in range(3):
                norm = (own["feature_norm.weight"], own["feature_norm.bias"])
                x = th.nn.functional.layer_norm(seen[t], seen[t].shape, *norm)
                hidden = cell(layer(own, "fc2", layer(own, "fc1", x)).unsqueeze(0), hidden)
                norm = (own["after_rnn_norm.weight"], own["after_rnn_norm.bias"])
                found = (
                    own[f"{last}.weight"] @ th.nn.functional.layer_norm(hidden[0], (6,), *norm) + own[f"{last}.bias"]
                )
                expected = values[0, t, i].view(1) if kind == "critics" else outputs[0, t, i]
                th.testing.assert_close(found.detach(), expected, rtol=1e-4, atol=1e-5)


def test_one_network_of_mappos_code_knows_who_asks():
    """A shared critic sees the state and the agent's number."""
    learner = team(
        episodes(), share_critic_params=True, critic_agent_id=True, update_order="together", share_params=True
    )
    values = learner.values(episodes())
    assert values.shape == (3, 6, 2) and not th.allclose(values[:, 0, 0], values[:, 0, 1])


def test_critics_that_learn_apart():
    """Moments, scaled advantages and losses of each agent are those of a team of one."""
    batch = episodes()
    learner = team(batch, critics_apart=True, value_norm_beta=0.5, mask_forced_actions=False)
    found = learner.estimates(batch)
    norm = learner.estimator.value_norm
    assert norm.running_mean.shape == (2,)
    mask = found["mask"][..., 0] > 0
    for i in range(2):
        alone = found["advantages"][..., i][mask]
        assert float(alone.mean()) == pytest.approx(0, abs=1e-6)
        assert float(alone.std(correction=0)) == pytest.approx(1, abs=1e-3)
        own = ValueNorm((), beta=0.5)
        own.update(norm.denormalize(found["returns"])[..., i][mask])
        th.testing.assert_close(norm.running_mean[i], own.running_mean, rtol=1e-4, atol=1e-5)
    together = team(batch, value_norm_beta=0.5, mask_forced_actions=False)
    scaled = together.estimates(batch)["advantages"][mask]
    assert float(scaled.mean()) == pytest.approx(0, abs=1e-6) and float(scaled[:, 0].mean()) != pytest.approx(
        0, abs=1e-3
    )


def test_gradients_of_critics_are_added_and_clipped_apart():
    """Agent 0's gradient (3, 4) has the norm 5, agent 1's (0.3, 0.4) the norm 0.5."""
    weights = [th.zeros(2, 1, 1, requires_grad=True), th.zeros(2, 1, requires_grad=True)]
    weights[0].grad, weights[1].grad = th.tensor([3.0, 0.3]).view(2, 1, 1), th.tensor([4.0, 0.4]).view(2, 1)
    assert float(critics_apart.clip_apart(weights, 1.0)) == pytest.approx(2.75)
    np.testing.assert_allclose(weights[0].grad.flatten(), [0.6, 0.3], rtol=1e-5)
    np.testing.assert_allclose(weights[1].grad.flatten(), [0.8, 0.4], rtol=1e-5)
    batch = with_log_prob(episodes(), th.full((3, 6, 2, 1), -1.0))
    sums = []
    for changes in ({}, {"critics_apart": True}):
        learner = team(batch, normalise_values=False, value_clip=False, grad_norm_clip=1e9, epochs=1, **changes)
        learner.train(batch, 10, 0)
        sums.append(th.cat([p.grad.flatten() for p in learner.critic.parameters()]))
    th.testing.assert_close(sums[1], 2 * sums[0], rtol=1e-4, atol=1e-6)
    th.testing.assert_close(learner.logger.last()["critic_loss"], _mean_of_agents(learner, batch), rtol=1e-4, atol=1e-5)


def _mean_of_agents(learner, batch):
    first = team(batch, normalise_values=False, value_clip=False, critics_apart=True)
    found = first.estimates(batch)
    squares = (found["old_values"] - found["returns"]) ** 2 * found["mask"]
    return float(squares.sum() / found["mask"].sum())


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"share_critic_params": True}, r"share_critic_params=True there is one\. Use share_critic_params=False"),
        ({"joint_step": True}, r"joint_step=True makes one step of all\. Use joint_step=False"),
        ({"update_order": "together", "critic": "trunk"}, r"critic=trunk is a part of the policy\. Use critic=state"),
        ({"mixer": "vdn"}, r"mixer=vdn makes one value of theirs\. Use mixer=null"),
    ],
)
def test_critics_apart_needs_critics(changes, why):
    config = compose_config("pymarlzoo_happo", "lbf").config
    check_config(config)
    with pytest.raises(ConfigError, match=f"^critics_apart=True is of critics that each agent has of its own, .*{why}"):
        critics_apart.check({**config, **changes})
