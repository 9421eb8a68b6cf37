"""REFIL: values as if agents knew one of two groups of entities, by a loop, and their loss."""

import pytest
import torch as th

from controllers.basic_controller import BasicMAC
from controllers.inputs import StepInputs
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners import refil_learner
from learners.q_learner import QLearner
from learners.refil_learner import REFILLearner, random_groups
from utils.errors import ConfigError
from utils.meanings import AGENT, ENEMY, ITSELF, OWN, Action, Columns, Meaning

ACTIONS = Action("attack 1", (ENEMY, 1)), Action("wait"), Action("attack 0", (ENEMY, 0))
GROUPS = th.tensor([[True, False, True, False], [False, False, True, True]])


def meaning_of(enemies=ENEMY):
    """Of `random_batch`: agents see themselves and two enemies, and the state has two of both."""
    seen, state = Columns(), Columns("state")
    seen.add(OWN, "a", of=ITSELF)
    seen.add(ENEMY, "xy", 2, of=enemies)
    state.add(AGENT, "a", 2)
    state.add(ENEMY, "x", 2)
    return Meaning(tuple(seen.groups), ACTIONS, tuple(state.groups))


def learner_of(kind, batch, **changes):
    settings = {"learner": "refil_learner", "agent": "entity_attend_rnn", "mixer": "flex_qmix", "mixer_heads": 2}
    settings |= {"attn_embed_dim": 4, "attn_heads": 2, "rnn_hidden_dim": 5, "hypernet_embed": 4, "mixing_embed_dim": 3}
    settings |= {"obs_last_action": False, "obs_agent_id": False, "learner_log_interval": 1, "meaning": meaning_of()}
    args = make_args(**{**settings, **changes})
    learner = kind(BasicMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
    parts = [learner.mac.agent, learner.target_mac.agent, learner.mixer, learner.target_mixer]
    for seed, part in enumerate(parts):
        fill(part.parameters(), seed=seed)
    return learner


def test_the_loss_is_that_of_both_values(monkeypatch):
    batch = random_batch([4, 2], 5, ends=["terminated", "truncated"])
    monkeypatch.setattr(refil_learner, "random_groups", lambda *sizes: GROUPS)
    plain = learner_of(QLearner, batch)
    found = []
    monkeypatch.setattr(plain, "_targets", lambda *known: found.append(QLearner._targets(plain, *known)) or found[-1])
    plain.train(batch, 10, 0)
    learner = learner_of(REFILLearner, batch, imagined_coef=0.3)
    agent = learner.mac.agent

    def imagined(b, i, own_group):
        """Agent i's values of its actions in episode b."""
        same = [GROUPS[b, j] == GROUPS[b, i] for j in (i, 2, 3)]
        kept = th.tensor([[bool(x) == own_group for x in same]])
        memory, values = agent.init_hidden(), []
        for t in range(4):
            outputs, memory = agent(StepInputs({"obs": batch["obs"][b, t, i][None]}, None, kept), memory)
            values.append(outputs[0, batch["actions"][b, t, i, 0]])
        return th.stack(values)

    with th.no_grad():
        qs = th.stack([th.stack([imagined(b, i, own) for own in (True, False) for i in (0, 1)], 1) for b in (0, 1)])
        mixed = learner.mixer.imagined(qs, batch["state"][:, :4], GROUPS[:, None].expand(-1, 4, -1))
    errors = ((mixed - found[0]) ** 2).squeeze(2)
    expected = (errors[0].sum() + errors[1, :2].sum()) / 6
    learner.train(batch, 10, 0)
    stats = learner.logger.last()
    assert stats["imagined_loss"] == pytest.approx(0.3 * expected.item(), rel=1e-4)
    assert stats["loss"] == pytest.approx(0.7 * plain.logger.last()["loss"] + stats["imagined_loss"], rel=1e-4)
    assert stats["imagined_loss"] != pytest.approx(0.3 * plain.logger.last()["loss"], rel=0.01)


def test_without_its_loss_it_is_q_learning():
    batch = random_batch([4, 2], 5)
    found = []
    for kind, coef in ((QLearner, 0.5), (REFILLearner, 0.0), (REFILLearner, 0.5)):
        learner = learner_of(kind, batch, imagined_coef=coef)
        learner.train(batch, 10, 0)
        found.append(th.cat([p.detach().flatten() for p in learner.params]))
    th.testing.assert_close(found[1], found[0])
    assert not th.allclose(found[2], found[0])


def test_entities_are_in_groups_of_any_share():
    groups = random_groups(4000, 4, "cpu").float()
    assert groups.mean().item() == pytest.approx(0.5, abs=0.02)
    # with a share p of each episode: twice the mean of p^4
    assert (groups.mean(1) % 1 == 0).float().mean().item() == pytest.approx(0.4, abs=0.04)


def test_what_it_cannot_do_is_refused():
    with pytest.raises(ConfigError, match="which entities of the state agents see as 'enemy'"):
        learner_of(REFILLearner, random_batch([2], 3), meaning=meaning_of(enemies=""))
    with pytest.raises(ConfigError, match="standardise_padding=False"):
        learner_of(REFILLearner, random_batch([2], 3), standardise_returns=True, standardise_padding=True)
