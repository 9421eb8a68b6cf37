"""Several environments of entities as one, in entity-gym's words: `entity_gym.env.vec_env`."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from envs.entities import ActionName, ActionSpace, EntityName, GlobalCategoricalActionSpace, Observation, ObsSpace
from envs.entities.numbering import EntityNumbering, Frames, Offers
from envs.entities.observation import EpisodeStats
from envs.entities.reading import GLOBAL
from envs.entities.reading import metrics as numbers_to_log
from utils.errors import MusterError
from utils.ragged.buffer import RaggedBufferBool, RaggedBufferF32, RaggedBufferI64


@dataclass
class VecCategoricalActionMask:
    """Who can take a categorical or global action, and which choices each actor has.

    `actors`: of each environment numbers of entities; `mask`: a row of choices for each actor; None: all.
    """

    actors: RaggedBufferI64
    mask: RaggedBufferBool | None

    def __getitem__(self, i: Any) -> "VecCategoricalActionMask":
        return VecCategoricalActionMask(self.actors[i], None if self.mask is None else self.mask[i])

    def extend(self, other: Any) -> None:
        _same_kind(self, other)
        self.mask = _extended(self.mask, self.actors.lengths, other.mask, other.actors.lengths)
        self.actors.extend(other.actors)

    def clear(self) -> None:
        self.actors.clear()
        if self.mask is not None:
            self.mask.clear()

    def clone(self) -> "VecCategoricalActionMask":
        return VecCategoricalActionMask(self.actors.clone(), None if self.mask is None else self.mask.clone())


@dataclass
class VecSelectEntityActionMask:
    """Who can select, and from which entities: numbers, of each environment.

    `mask`: of each pair of an actor and an actee, actor after actor, whether it may be selected; None: all. entity-gym
    does not have it.
    """

    actors: RaggedBufferI64
    actees: RaggedBufferI64
    mask: RaggedBufferBool | None = None

    def __getitem__(self, i: Any) -> Any:
        """Of an environment, its actors; of several, all of this."""
        if isinstance(i, int):
            return self.actors[i]
        return VecSelectEntityActionMask(self.actors[i], self.actees[i], None if self.mask is None else self.mask[i])

    def extend(self, other: Any) -> None:
        _same_kind(self, other)
        self.mask = _extended(self.mask, self._pairs(), other.mask, other._pairs())
        self.actors.extend(other.actors)
        self.actees.extend(other.actees)

    def clear(self) -> None:
        for buffer in (self.actors, self.actees, self.mask):
            if buffer is not None:
                buffer.clear()

    def clone(self) -> "VecSelectEntityActionMask":
        mask = None if self.mask is None else self.mask.clone()
        return VecSelectEntityActionMask(self.actors.clone(), self.actees.clone(), mask)

    def _pairs(self) -> np.ndarray:
        return self.actors.lengths * self.actees.lengths


VecActionMask = VecCategoricalActionMask | VecSelectEntityActionMask


@dataclass
class Metric:
    """Count, sum, least and most of a number."""

    count: int = 0
    sum: float = 0.0
    min: float = float("inf")
    max: float = float("-inf")

    def push(self, value: float) -> None:
        self += Metric(1, value, value, value)

    def __iadd__(self, m: "Metric") -> "Metric":
        self.count, self.sum = self.count + m.count, self.sum + m.sum
        self.min, self.max = min(self.min, m.min), max(self.max, m.max)
        return self

    def __add__(self, m: "Metric") -> "Metric":
        total = copy.copy(self)
        total += m
        return total

    @property
    def mean(self) -> float:
        """0 without a number."""
        return self.sum / self.count if self.count else 0.0


@dataclass
class VecObs:
    """What S environments show; each has a sequence in the ragged buffers.

    Attributes:
        features: of every entity type `[S][n][features]`; with global features or a global action, `__global__` has
            the global features, one row for each environment.
        visible: of the types that an environment hides something of, `[S][n][1]`.
        action_masks: of every action.
        reward, done: float32 and bool `[S]`. Where an episode has ended, the rest is of the next one's beginning.
        metrics: over the environments.
        end_of_episode_info: by environment, of those that give it.
    """

    features: dict[EntityName, RaggedBufferF32] = field(default_factory=dict)
    visible: dict[EntityName, RaggedBufferBool] = field(default_factory=dict)
    action_masks: dict[ActionName, VecActionMask] = field(default_factory=dict)
    reward: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))
    done: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    metrics: dict[str, Metric] = field(default_factory=dict)
    end_of_episode_info: dict[int, EpisodeStats] = field(default_factory=dict)

    def extend(self, b: "VecObs") -> None:
        """Append other environments; types, masks and visibilities that one side lacks are empty there, or true. Raises
        MusterError: the other ones have an action that these lack."""
        mine, theirs = len(self.reward), len(b.reward)
        if unknown := [name for name in b.action_masks if name not in self.action_masks]:
            raise MusterError(f"VecObs.extend: only the other environments have the action '{unknown[0]}'.")
        for name in {**self.features, **b.features}:
            width = (self.features if name in self.features else b.features)[name].size2()
            ours = self.features.setdefault(name, empty_ragged_f32(width, mine))
            other = b.features[name] if name in b.features else empty_ragged_f32(width, theirs)
            seen = _extended(self.visible.get(name), ours.lengths, b.visible.get(name), other.lengths)
            if seen is not None:
                self.visible[name] = seen
            ours.extend(other)
        for name, mask in b.action_masks.items():
            self.action_masks[name].extend(mask)
        self.reward, self.done = np.concatenate((self.reward, b.reward)), np.concatenate((self.done, b.done))
        for name, metric in b.metrics.items():
            self.metrics[name] = self.metrics.get(name, Metric()) + metric
        self.end_of_episode_info |= {mine + i: stats for i, stats in b.end_of_episode_info.items()}


class VecEnv(ABC):
    """Several environments, which restart by themselves when an episode ends."""

    @abstractmethod
    def obs_space(self) -> ObsSpace:
        """What can be seen."""

    @abstractmethod
    def action_space(self) -> dict[ActionName, ActionSpace]:
        """What can be done."""

    @abstractmethod
    def reset(self, obs_config: ObsSpace) -> VecObs:
        """Begin an episode in all; the types and features of `obs_config` are seen."""

    @abstractmethod
    def act(self, actions: Mapping[ActionName, RaggedBufferI64], obs_filter: ObsSpace) -> VecObs:
        """Let all act.

        Args:
            actions: `[S][actors][1]`, in the order of the mask's actors: the choice; of select-entity, the position
                among the mask's actees.
        """

    @abstractmethod
    def render(self, **kwargs: Any) -> np.ndarray:
        """Pictures, uint8 `[S, height, width, 3]`."""

    @abstractmethod
    def __len__(self) -> int:
        """S."""

    def close(self) -> None:  # noqa: B027 (most have nothing to free)
        """Free what the environments hold."""

    def has_global_entity(self) -> bool:
        return has_global_entity(self.obs_space(), self.action_space())


class VecWrapper(VecEnv):
    """Another one, of which a subclass changes something."""

    def __init__(self, inner: VecEnv):
        self.inner = inner

    def render(self, **kwargs: Any) -> np.ndarray:
        return self.inner.render(**kwargs)

    def close(self) -> None:
        self.inner.close()

    def __len__(self) -> int:
        return len(self.inner)

    def obs_space(self) -> ObsSpace:
        return self.inner.obs_space()

    def action_space(self) -> dict[ActionName, ActionSpace]:
        return self.inner.action_space()


def has_global_entity(obs_space: ObsSpace, action_space: Mapping[ActionName, ActionSpace]) -> bool:
    return bool(obs_space.global_features) or any(
        isinstance(space, GlobalCategoricalActionSpace) for space in action_space.values()
    )


def batch_obs(
    obs: Sequence[Observation], obs_space: ObsSpace, action_space: Mapping[ActionName, ActionSpace]
) -> VecObs:
    """Observations as one. Raises MusterError: one does not fit the spaces; the message names the entity type or the
    action."""
    numbering = EntityNumbering(obs_space, action_space, acts=False)
    batch = batched(numbering.read(obs), obs_space, action_space)
    batch.end_of_episode_info = {i: one.end_of_episode_info for i, one in enumerate(obs) if one.end_of_episode_info}
    return batch


def batched(frames: Frames, obs_space: ObsSpace, action_space: Mapping[ActionName, ActionSpace]) -> VecObs:
    """Observations by number as one."""
    counts = dict(zip(frames.features, frames.counts.T, strict=True))
    features = {name: RaggedBufferF32.from_flattened(values, counts[name]) for name, values in frames.features.items()}
    if has_global_entity(obs_space, action_space):
        features[GLOBAL] = RaggedBufferF32.from_array(frames.global_features[:, None])
    metrics: dict[str, Metric] = {}
    for one in frames.observations:
        for name, value in numbers_to_log(one.metrics).items():
            metrics.setdefault(name, Metric()).push(value)
    return VecObs(
        features=features,
        visible={
            name: RaggedBufferBool.from_flattened(flags[:, None], counts[name])
            for name, flags in frames.visible.items()
        },
        action_masks={name: _mask(offers) for name, offers in frames.offers.items()},
        reward=np.array([one.reward for one in frames.observations], np.float32),
        done=np.array([one.done or one.truncated for one in frames.observations], bool),
        metrics=metrics,
    )


def empty_ragged_f32(feats: int, sequences: int) -> RaggedBufferF32:
    """So many sequences without items."""
    return RaggedBufferF32.from_flattened(np.zeros((0, feats), np.float32), np.zeros(sequences, np.int64))


def empty_ragged_i64(feats: int, sequences: int) -> RaggedBufferI64:
    """So many sequences without items."""
    return RaggedBufferI64.from_flattened(np.zeros((0, feats), np.int64), np.zeros(sequences, np.int64))


def _mask(offers: Offers) -> VecActionMask:
    actors = RaggedBufferI64.from_flattened(offers.actors[:, None], offers.n_actors)
    if offers.actees is None:
        legal = RaggedBufferBool.from_flattened(offers.legal, offers.n_actors) if offers.masked else None
        return VecCategoricalActionMask(actors, legal)
    actees = RaggedBufferI64.from_flattened(offers.actees[:, None], offers.n_actees)
    if not offers.masked:
        return VecSelectEntityActionMask(actors, actees)
    there = np.arange(offers.legal.shape[1]) < np.repeat(offers.n_actees, offers.n_actors)[:, None]
    pairs = offers.legal[there][:, None]
    return VecSelectEntityActionMask(
        actors, actees, RaggedBufferBool.from_flattened(pairs, offers.n_actors * offers.n_actees)
    )


def _extended(
    mine: RaggedBufferBool | None, my_lengths: np.ndarray, theirs: RaggedBufferBool | None, their_lengths: np.ndarray
) -> RaggedBufferBool | None:
    """`mine` with `theirs` appended; one that is missing is all true, and both missing stay so."""
    if mine is None and theirs is None:
        return None
    width = next(one.size2() for one in (mine, theirs) if one is not None)
    mine = _all_true(my_lengths, width) if mine is None else mine
    mine.extend(_all_true(their_lengths, width) if theirs is None else theirs)
    return mine


def _all_true(lengths: np.ndarray, width: int) -> RaggedBufferBool:
    return RaggedBufferBool.from_flattened(np.ones((int(lengths.sum()), width), bool), lengths)


def _same_kind(mine: VecActionMask, other: Any) -> None:
    if type(other) is not type(mine):
        raise MusterError(f"{type(mine).__name__} cannot be extended by {type(other).__name__}.")
