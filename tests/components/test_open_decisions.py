"""Decisions that are open at the end of a rollout, over many rollouts: against the streams as they were made."""

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch as th

from components.episode_batch import EpisodeBatch
from components.open_decisions import OpenDecisions
from components.scheme import scheme_of
from components.stream_steps import by_stream
from envs.contract.groups import stream_groups
from small_streams import stream_spec
from utils.rl_utils import terminations, valid_transitions

B, N, STEPS, ROLLOUT = 3, 2, 200, 5
SPEC = stream_spec(N, 1)
SCHEME, GROUPS, PREPROCESS = scheme_of(SPEC)
SCHEME["hidden_before"] = {"vshape": (1,), "group": "agents", "episode_const": True}


@dataclass
class World:
    """One environment, by step: what its agents show; and what can be learned from it, as `learned` says."""

    present: np.ndarray
    begins: np.ndarray
    obs: np.ndarray
    closing: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    over: np.ndarray
    decisions: np.ndarray  # of the agent before this step: a controller's memory
    learned: list[tuple] = field(default_factory=list)


def world(dice, asking):
    """Observations are numbers of their own. Transitions: observation, reward, the next one, whether it terminated."""
    flags, numbers = (lambda: np.zeros((STEPS, N), dtype=bool)), (lambda: np.zeros((STEPS, N)))
    made = World(flags(), flags(), numbers(), numbers(), numbers(), flags(), flags(), np.zeros(STEPS, bool), numbers())
    open_at, count = [None] * N, np.zeros(N)
    names = iter(range(1, 10**6))
    closing_column = False
    for t in range(STEPS):
        made.decisions[t] = count
        for i in range(N):
            if dice.random() < asking:
                made.present[t, i] = True
                made.obs[t, i] = next(names)
                if open_at[i] is not None:
                    obs, reward = open_at[i]
                    made.learned.append((obs, reward, made.obs[t, i], False))
                made.begins[t, i] = open_at[i] is None
                open_at[i] = None if closing_column else (made.obs[t, i], 0.0)
                count[i] += not closing_column
            elif closing_column:
                open_at[i] = None  # it is not known what it would have seen
        if closing_column or t == STEPS - 1:
            closing_column = False
            continue
        for i in range(N):
            made.reward[t, i] = reward = float(dice.integers(1, 9))
            if open_at[i] is None:
                continue
            open_at[i] = (open_at[i][0], open_at[i][1] + reward)
            if dice.random() < 0.1:
                ended = made.terminated if dice.random() < 0.5 else made.truncated
                ended[t, i] = True
                made.closing[t + 1, i] = next(names)
                made.learned.append((*open_at[i], made.closing[t + 1, i], bool(made.terminated[t, i])))
                open_at[i] = None
        made.over[t] = closing_column = dice.random() < 0.08
    return made


def rollout(worlds, starts, make):
    """The raw rollout from these steps on, and where the next ones start."""
    batch = make(ROLLOUT + 1)
    data, place = batch.data.transition_data, [slice(start, start + ROLLOUT + 1) for start in starts]
    data["filled"][:] = 1
    for b, (one, part) in enumerate(zip(worlds, place, strict=True)):
        for key in ("present", "begins", "obs", "closing"):
            data[key][b, ..., 0] = th.as_tensor(getattr(one, key)[part])
        # the last frame has no step yet
        steps = slice(part.start, part.stop - 1)
        data["reward"][b, :-1, :, 0] = th.as_tensor(one.reward[steps])
        for key in ("terminated", "truncated"):
            data[f"agents/{key}"][b, :-1, :, 0] = th.as_tensor(getattr(one, key)[steps])
        data["truncated"][b, :-1, 0] = th.as_tensor(one.over[steps])
        batch.data.episode_data["hidden_before"][b, :, 0] = th.as_tensor(one.decisions[part.start])
    ends = [start + ROLLOUT + int(one.over[start + ROLLOUT - 1]) for one, start in zip(worlds, starts, strict=True)]
    return batch, ends


def learned(found):
    """The transitions that a learner sees, by environment."""
    mask, ended = valid_transitions(found, by_agent=True), terminations(found, by_agent=True)
    seen = [[] for _ in range(B)]
    for b, t, i in (mask > 0).nonzero().tolist():
        now, after = found["obs"][b, t : t + 2, i, 0].tolist()
        seen[b].append((now, found["reward"][b, t, i, 0].item(), after, bool(ended[b, t, i])))
    return seen


@pytest.mark.parametrize("asking", [0.25, 0.6, 1.0])
def test_every_decision_is_learned_from_once_however_rollouts_cut(asking):
    dice = np.random.default_rng(int(100 * asking))
    make = lambda length: EpisodeBatch(SCHEME, GROUPS, B, length, preprocess=PREPROCESS)  # noqa: E731
    worlds, groups = [world(dice, asking) for _ in range(B)], stream_groups(SPEC)
    kept = OpenDecisions(groups, make, longest=STEPS)
    seen, starts, carried = [[] for _ in range(B)], [0] * B, 0
    while max(starts) + ROLLOUT + 1 <= STEPS:
        batch, ends = rollout(worlds, starts, make)
        for t in range(ROLLOUT):
            now = [start + t for start in starts]
            observed = {"present": np.stack([one.present[at] for one, at in zip(worlds, now, strict=True)])}
            known = [th.as_tensor(one.decisions[at]) for one, at in zip(worlds, now, strict=True)]
            kept.asked(observed, {"hidden_before": th.stack(known).unsqueeze(-1).float()}, batch)
        whole = kept.precede(batch)
        found, since = by_stream(whole, groups, make)
        for b, transitions in enumerate(learned(found)):
            seen[b] += transitions
        _memory_is_that_before_the_first_decision(found, worlds)
        kept.keep(whole, since)
        carried += sum(int((steps >= 0).sum()) for steps in since.values())
        restored = OpenDecisions(groups, make, longest=STEPS)
        restored.load_state_dict(kept.state_dict())
        starts, kept = ends, restored
    for b, one in enumerate(worlds):
        # what began before the last rollout's end and was answered within it
        last = max(transition[0] for transition in seen[b])
        assert sorted(seen[b]) == sorted(x for x in one.learned if x in seen[b] or x[0] < last - 2 * N * ROLLOUT)
        assert len(seen[b]) == len(set(seen[b])) > 40
    assert carried > 20 if asking < 1 else carried == 0


def _memory_is_that_before_the_first_decision(found, worlds):
    shown = found["present"][..., 0] > 0
    for b, i in shown[:, 0].nonzero().tolist():
        ((t,),) = (np.flatnonzero(worlds[b].obs[:, i] == found["obs"][b, 0, i, 0].item()),)
        assert found["hidden_before"][b, i, 0].item() == worlds[b].decisions[t, i]


def test_a_decision_that_stays_open_for_too_long_is_given_up():
    make = lambda length: EpisodeBatch(SCHEME, GROUPS, B, length, preprocess=PREPROCESS)  # noqa: E731
    groups, batch = stream_groups(SPEC), make(ROLLOUT + 1)
    batch.data.transition_data["filled"][:] = 1
    batch.data.transition_data["present"][0, 1, 0] = 1
    for longest, length in ((4, 4 + ROLLOUT + 1), (3, ROLLOUT + 1)):
        kept = OpenDecisions(groups, make, longest)
        _, since = by_stream(batch, groups, make)
        assert since["agents"].tolist() == [[1, -1], [-1, -1], [-1, -1]]
        kept.keep(batch, since)
        assert kept.precede(batch).max_seq_length == length
    kept.forget()
    assert kept.precede(batch) is batch
