"""The controller of entities: slots, masks, values; the same outputs in play and in learning; its normalisation."""

import pytest
import torch as th

from checks import check_config
from cli.compose import compose_config
from controllers.contract import unroll_by_steps
from controllers.unroll import BatchUnroll
from entity_runs import parts_of
from utils.errors import ConfigError
from utils.rl_utils import valid_transitions


@pytest.fixture(scope="module")
def played():
    """Parts after a rollout, and its batch; its network has taken in what it saw."""
    parts, learner = parts_of()
    learner.train(parts.runner.run(), 0, 0)
    batch = parts.runner.run()
    parts.runner.close_env()
    return parts.mac, learner, batch


def test_outputs_are_those_of_the_network_at_its_slots(played):
    mac, _, batch = played
    outputs = mac.forward(batch, 2)
    seen = mac.fields.seen(lambda key: batch[key][:, 2]) | mac.fields.offered(lambda key: batch[key][:, 2])
    with th.no_grad():
        logits, heads = mac.agent(**seen)
    n_mines, moves, shots = 5, logits["Move"], logits["Fire Orbital Cannon"]
    assert outputs.shape == (4, 3, n_mines + 2 + 1 + 1)
    th.testing.assert_close(outputs[:, :2, :5], moves)
    th.testing.assert_close(outputs[:, 2:, :8], shots)
    for slot in range(3):
        th.testing.assert_close(outputs[:, slot, -1], heads["value"].squeeze(1))


def test_an_actor_chooses_among_what_it_was_offered(played):
    mac, _, batch = played
    acting = batch["acts"][..., 0] > 0
    with th.no_grad():
        outputs = mac.unroll(batch)[0]
    policy = mac.distribution(outputs, {"avail_actions": batch["avail_actions"]}).branches["actions"]
    assert policy.probs[batch["avail_actions"] == 0].max() == 0
    assert (policy.probs[~acting][:, 0] == 1).all(), "nobody is there to choose"
    assert policy.probs[acting].sum(-1) == pytest.approx(1, abs=1e-5)
    assert batch["avail_actions"].gather(-1, batch["actions"])[:, :-1].all()
    assert acting[:, :, 2].any() and not acting[:, :, 2].all(), "the cannon is ready now and then"


def test_learning_sees_the_policy_and_the_values_of_acting(played):
    mac, learner, batch = played
    real = valid_transitions(batch)[..., 0] > 0
    outputs = BatchUnroll(batch, mac).outputs(mac)
    th.testing.assert_close(outputs, unroll_by_steps(mac, batch)[0], rtol=1e-4, atol=1e-5)
    th.testing.assert_close(mac.unroll(batch)[0], outputs, rtol=1e-4, atol=1e-5)
    sample = learner.sample(batch, learner.estimates(batch), chunk_length=1)
    assert (sample.batch_size, sample.max_seq_length) == (int(real.sum()), 1)
    now = learner.evaluate_actions(sample)
    th.testing.assert_close(now.log_prob, sample["old_log_prob"], rtol=1e-4, atol=1e-5)
    th.testing.assert_close(now.values, sample["old_values"], rtol=1e-4, atol=1e-5)
    assert now.values.shape == (sample.batch_size, 1, 1)


def test_a_decision_for_some_episodes_is_that_among_all(played):
    mac, _, batch = played
    everyone, some = (mac.decide(batch, 2, 0, rows) for rows in (slice(None), [1, 3]))
    assert some.actions["actions"].shape == (2, 3)
    for key in ("probs", "value"):
        th.testing.assert_close(some.extra(key), everyone.extra(key)[[1, 3]], rtol=1e-5, atol=1e-6)
    assert not th.equal(everyone.extra("value")[0], everyone.extra("value")[1])


def test_frames_that_are_not_filled_are_left_out(played):
    mac, _, batch = played
    gaps = batch[:, :3]
    gaps.data.transition_data = {key: x.clone() for key, x in gaps.data.transition_data.items()}
    for x in gaps.data.transition_data.values():
        x[1, 2] = 0
    unroll = BatchUnroll(gaps, mac)
    spread = unroll.spread(unroll.outputs(mac))
    th.testing.assert_close(spread[:, :2], BatchUnroll(batch, mac).outputs(mac)[:, :2], rtol=1e-4, atol=1e-5)
    assert not spread[1, 2].any()


def test_normalisation_moves_in_training_only(played):
    mac, learner, batch = played
    norms = {name: x.clone() for name, x in mac.agent.state_dict().items() if "mean" in name or "count" in name}
    assert norms and all(x.any() for name, x in norms.items() if "count" in name)
    mac.unroll(batch)
    mac.decide(batch, 1, 0, test_mode=True)
    assert all(th.equal(mac.agent.state_dict()[name], x) for name, x in norms.items())
    learner.finish(batch)
    assert not all(th.equal(mac.agent.state_dict()[name], x) for name, x in norms.items())


def test_a_policy_and_a_value_network_of_their_own():
    parts, learner = parts_of("Xor", {}, critic="entities", vf_net={"d_model": 16, "n_layer": 1})
    before = [weight.clone() for weight in learner.critic.parameters()]
    learner.train(parts.runner.run(), 0, 0)
    assert parts.mac.forward(parts.runner.batch, 0).shape[-1] == 2, "no value"
    assert any(not th.equal(old, new) for old, new in zip(before, learner.critic.parameters(), strict=True))
    counts = [x for name, x in learner.critic.state_dict().items() if name.endswith("count")]
    assert counts and all(count > 0 for count in counts)


def config_of(algorithm="enn_ppo", environment="entities", **changes):
    return compose_config(algorithm, environment).config | changes


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (config_of(agent="ff"), "agent=ff does not go with mac=entity_mac.*rogue_net"),
        (config_of("ppo", "entities", agent="rogue_net"), "mac=policy_mac does not go with agent=rogue_net"),
        (config_of("ppo", "entities", critic="entities"), "mac=policy_mac does not go with critic=entities"),
        (config_of("enn_ppo", "entities", critic="own"), None),
        (config_of("enn_ppo", "entities", vf_net={"d_model": 64}), "critic=trunk has no network of these settings"),
    ],
)
def test_parts_that_do_not_fit_are_refused(config, message):
    if message is None:  # known once there is an environment
        check_config(config)
        return
    with pytest.raises(ConfigError, match=message):
        check_config(config)
