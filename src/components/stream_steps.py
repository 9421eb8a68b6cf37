"""Rollouts of agents that are streams (`envs.contract.groups`), rearranged so that learners find them as usual.

An environment with such agents plays on whether or not an agent asks. In a rollout of its steps, an agent's next
decision may be many steps after the last, and a stream that ends and begins in one step has no place for what was
seen at the end. Here every agent gets steps of its own: its decisions one after another, after each end the closing
step that `utils.rl_utils.valid_transitions` expects, and behind the last one steps in which it is not present.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch
from envs.contract.groups import BEGINS, CLOSING, PRESENT, StreamGroup
from utils.tensors.devices import to_device


@dataclass
class StreamSteps:
    """Where the steps of a group's agents come from: arrays `[K]`.

    Args:
        entries, agents, steps: where to.
        sources: which step of the rollout from.
        closing: whether its closing observation.
        reward: float64 `[B, C, n]`.
        terminated, truncated: bool `[B, C, n]`.
        count: C, the steps of the longest.
        open_since: the step of the rollout with the decision that is open at its end, -1 without one, int64 `[B, n]`;
            those of the last step, with which the next rollout begins, do not count.
    """

    entries: np.ndarray
    agents: np.ndarray
    steps: np.ndarray
    sources: np.ndarray
    closing: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    count: int
    open_since: np.ndarray


def stream_steps(
    present: np.ndarray,
    begins: np.ndarray,
    reward: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
    over: np.ndarray,
    filled: np.ndarray,
) -> StreamSteps:
    """Steps by agent, from the time steps of a rollout.

    Args:
        present, begins, terminated, truncated: bool `[B, T, n]`; `reward` float `[B, T, n]`.
        over: whether the environment's episode ended with the step, bool `[B, T]`; the next step then shows its end.
        filled: bool `[B, T]`.
    """
    size, length, n = present.shape
    asks = present & filled[..., None]
    cursor, is_open = np.zeros((size, n), dtype=np.int64), np.zeros((size, n), dtype=bool)
    # at most a gap or a closing step before every decision
    shape = (size, 2 * length + 1, n)
    since = np.full((size, n), -1)
    none = np.zeros(0, dtype=np.int64)
    found = StreamSteps(
        none, none, none, none, none, np.zeros(shape), np.zeros(shape, bool), np.zeros(shape, bool), 0, since
    )
    placed: list[tuple[np.ndarray, ...]] = []

    def place(which: np.ndarray, source: int, closing: bool) -> None:
        entries, agents = np.nonzero(which)
        placed.append((entries, agents, cursor[which], np.full(len(entries), source), np.full(len(entries), closing)))
        cursor[which] += 1

    def mark(ends: np.ndarray, which: np.ndarray) -> None:
        entries, agents = np.nonzero(which)
        ends[entries, cursor[which] - 1, agents] = True

    for t in range(length):
        after_end = over[:, t - 1, None] if t else np.zeros((size, 1), dtype=bool)
        cut = is_open & after_end & asks[:, t]
        mark(found.truncated, cut)
        place(cut, t, closing=False)
        is_open &= ~cut
        decides = asks[:, t] & ~after_end
        # one whose stream went away without an end: a step without it breaks the chain
        cursor[is_open & (after_end | (decides & begins[:, t]))] += 1
        is_open &= ~after_end
        place(decides, t, closing=False)
        if t == length - 1:
            since[~is_open | decides] = -1
            break
        is_open |= decides
        since[decides] = t
        entries, agents = np.nonzero(is_open)
        found.reward[entries, cursor[is_open] - 1, agents] += reward[:, t][is_open]
        ended = is_open & (terminated[:, t] | truncated[:, t])
        mark(found.terminated, ended & terminated[:, t])
        mark(found.truncated, ended & truncated[:, t])
        place(ended, t + 1, closing=True)
        is_open &= ~ended
    found.entries, found.agents, found.steps, found.sources, found.closing = map(
        np.concatenate, zip(*placed, strict=True)
    )
    found.count = int(cursor.max(initial=0))
    return found


def by_stream(
    batch: EpisodeBatch, groups: Sequence[StreamGroup], make: Callable[[int], EpisodeBatch], multiple: int = 1
) -> tuple[EpisodeBatch, dict[str, np.ndarray]]:
    """The rollout with steps by agent, whose own ends are those of agents; and by group, `StreamSteps.open_since`.

    Args:
        batch: every field by step is of one of `groups`.
        make: a new batch of so many time steps.
        multiple: the number of transitions of an entry is one of this.
    """
    data = batch.data.transition_data
    over = _numpy(data["terminated"] + data["truncated"])[..., 0] > 0
    filled = _numpy(data["filled"])[..., 0] > 0
    plans = []
    for group in groups:
        fields = (f"{group.prefix}{PRESENT}", f"{group.prefix}{BEGINS}", f"{group.prefix}reward")
        ends = (f"{group.name}/terminated", f"{group.name}/truncated")
        present, begins, reward, terminated, truncated = (_numpy(data[key])[..., 0] for key in (*fields, *ends))
        plan = stream_steps(present > 0, begins > 0, reward, terminated > 0, truncated > 0, over, filled)
        plans.append((group, plan))
    transitions = max(1, *(plan.count - 1 for _, plan in plans))
    arranged = make(-(-transitions // multiple) * multiple + 1)
    for key, x in batch.data.episode_data.items():
        arranged.data.episode_data[key].copy_(x)
    new = arranged.data.transition_data
    new["filled"][:] = 1
    for key, x in data.items():
        for group, plan in plans:
            if batch.scheme[key].get("group") == group.name:
                _arrange(key, x, new[key], group, plan, data)
    return arranged, {group.name: plan.open_since for group, plan in plans}


def _arrange(key: str, x: th.Tensor, target: th.Tensor, group: StreamGroup, plan: StreamSteps, data: dict) -> None:
    whole = {
        f"{group.prefix}reward": plan.reward,
        f"{group.name}/terminated": plan.terminated,
        f"{group.name}/truncated": plan.truncated,
    }
    if key in whole:
        known = min(target.size(1), whole[key].shape[1])
        target[:, :known] = to_device(th.as_tensor(whole[key][:, :known]), target.device).unsqueeze(-1)
        return
    if key.startswith(f"{group.prefix}{CLOSING}"):
        return
    if key.startswith(f"{group.prefix}avail"):
        target[:] = 1  # of who is not there anything is legal
    if key == f"{group.prefix}{PRESENT}":
        entries, agents, to = (
            to_device(th.as_tensor(x), target.device) for x in (plan.entries, plan.agents, plan.steps)
        )
        target[entries, to, agents] = 1
        return
    _take(target, x, plan, ~plan.closing)
    if key in group.closings:
        _take(target, data[group.closings[key]], plan, plan.closing)


def _take(target: th.Tensor, source: th.Tensor, plan: StreamSteps, which: np.ndarray) -> None:
    """Write what `source` has of those steps of the plan."""
    of_plan = plan.entries, plan.agents, plan.steps, plan.sources
    entries, agents, to, there = (to_device(th.as_tensor(index[which]), target.device) for index in of_plan)
    target[entries, to, agents] = source[entries, there, agents]


def _numpy(x: th.Tensor) -> np.ndarray:
    return x.cpu().numpy()
