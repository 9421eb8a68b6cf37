"""Reading samples: `entity_gym.serialization.sample_loader`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from envs.entities import ActionSpace, ObsSpace
from envs.entities.entity_gym.ragged_dict import RaggedActionDict, RaggedBatchDict
from envs.entities.entity_gym.serialization.msgpack_ragged import loads
from envs.entities.entity_gym.serialization.sample_recorder import VERSION, Sample
from envs.entities.entity_gym.vec_env import VecActionMask
from utils.errors import MusterError
from utils.files.regular_files import open_regular
from utils.ragged.buffer import RaggedBufferBool, RaggedBufferF32, RaggedBufferI64

LARGEST_FILE = 2**36


@dataclass
class Episode:
    """All steps of an episode, one sequence each.

    Attributes:
        total_reward: with the reward of its last step, which the sample behind that step has.
        complete: it has ended within the trace; never of a trace of which only some steps were recorded.
    """

    number: int
    steps: int = 0
    entities: dict[str, RaggedBufferF32] = field(default_factory=dict)
    visible: dict[str, RaggedBufferBool] = field(default_factory=dict)
    actions: dict[str, RaggedBufferI64] = field(default_factory=dict)
    masks: dict[str, VecActionMask] = field(default_factory=dict)
    logprobs: dict[str, RaggedBufferF32] = field(default_factory=dict)
    logits: dict[str, RaggedBufferF32] = field(default_factory=dict)
    total_reward: float = 0.0
    complete: bool = False


@dataclass
class MergedSamples:
    """The frames of several samples, one sequence each."""

    entities: RaggedBatchDict = field(default_factory=lambda: RaggedBatchDict(RaggedBufferF32))
    visible: RaggedBatchDict = field(default_factory=lambda: RaggedBatchDict(RaggedBufferBool))
    actions: RaggedBatchDict = field(default_factory=lambda: RaggedBatchDict(RaggedBufferI64))
    logprobs: RaggedBatchDict = field(default_factory=lambda: RaggedBatchDict(RaggedBufferF32))
    masks: RaggedActionDict = field(default_factory=RaggedActionDict)
    logits: RaggedBatchDict | None = None
    frames: int = 0

    @classmethod
    def empty(cls) -> "MergedSamples":
        return cls()

    def push_sample(self, sample: Sample) -> None:
        """Append a sample, which stays as it is."""
        self.entities.extend(sample.obs.features)
        self.visible.extend(sample.obs.visible)
        self.actions.extend(sample.actions)
        self.logprobs.extend(sample.probs)
        self.masks.extend(sample.obs.action_masks)
        if sample.logits is not None:
            self.logits = self.logits or RaggedBatchDict(RaggedBufferF32)
            self.logits.extend(sample.logits)
        self.frames += len(sample.episode)


@dataclass
class Trace:
    """The samples of a file, and the spaces of their environments. `progress_bar` is accepted, and shows nothing."""

    action_space: dict[str, ActionSpace]
    obs_space: ObsSpace
    samples: list[Sample]
    subsample: int = 1

    @classmethod
    def load(cls, path: str, progress_bar: bool = False) -> "Trace":
        """Read a file that this or entity-gym has written; nothing in it is run. Raises MusterError: it is no such
        file, or is damaged."""
        try:
            with open_regular(path, LARGEST_FILE, follow_links=True) as file:
                return cls.deserialize(file.read())
        except OSError as error:
            raise MusterError(f"{path} cannot be read: {error.strerror}.") from None
        except MusterError as error:
            raise MusterError(f"{path}: {error}") from None

    @classmethod
    def deserialize(cls, data: bytes, progress_bar: bool = False) -> "Trace":
        """Read the bytes of such a file. Raises MusterError as `load`."""
        try:
            if len(data) < 8 or _number(data, 0) > VERSION:
                raise ValueError("it is no recording of entity-gym's")
            parts = _parts(data)
            header = loads(next(parts, b""))
            return cls(
                header["act_space"],
                header["obs_space"],
                list(map(Sample.deserialize, parts)),
                header.get("subsample", 1),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise MusterError(f"The recording cannot be read: {error}.") from None

    def episodes(self, include_incomplete: bool = False, progress_bar: bool = False) -> list[Episode]:
        """The episodes by number; those that have not ended only if asked for. Raises MusterError: the samples do not
        fit together."""
        with _fitting():
            found = self._episodes()
        return sorted((e for e in found.values() if e.complete or include_incomplete), key=lambda e: e.number)

    def _episodes(self) -> dict[int, Episode]:
        found: dict[int, Episode] = {}
        before: list[int] = []
        for sample in self.samples:
            whole = self.subsample == 1 and len(before) == len(sample.episode)
            for i, number in enumerate(sample.episode):
                episode = found.setdefault(number, Episode(number))
                episode.steps += 1
                ended = bool(sample.obs.done[i])
                if ended and whole:
                    found[before[i]].complete = True
                    found[before[i]].total_reward += float(sample.obs.reward[i])
                elif not ended:
                    episode.total_reward += float(sample.obs.reward[i])
                _extend(episode.entities, sample.obs.features, i)
                _extend(episode.visible, sample.obs.visible, i)
                _extend(episode.actions, sample.actions, i)
                _extend(episode.masks, sample.obs.action_masks, i)
                _extend(episode.logprobs, sample.probs, i)
                _extend(episode.logits, sample.logits or {}, i)
            before = sample.episode
        return found

    def train_test_split(
        self, test_frac: float = 0.1, progress_bar: bool = False
    ) -> tuple[MergedSamples, MergedSamples]:
        """The frames to train and to test on: the first samples are for tests, and no episode is on both sides. Raises
        MusterError: the samples do not fit together."""
        test, train, tested = MergedSamples(), MergedSamples(), set()
        wanted = test_frac * sum(len(sample.episode) for sample in self.samples)
        with _fitting():
            for sample in self.samples:
                if test.frames < wanted:
                    tested.update(sample.episode)
                    test.push_sample(sample)
                elif tested.isdisjoint(sample.episode):
                    train.push_sample(sample)
        return train, test


@contextmanager
def _fitting() -> Iterator[None]:
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise MusterError(f"The samples of the recording do not fit together: {error}.") from None


def _extend(of_episode: dict[str, Any], named: Mapping[str, Any], row: int) -> None:
    rows = np.array([row])
    for name, ragged in named.items():
        if name in of_episode:
            of_episode[name].extend(ragged[rows])
        else:
            of_episode[name] = ragged[rows]


def _parts(data: bytes) -> Iterator[bytes]:
    place = 8
    while place < len(data):
        length = _number(data, place)
        place += 8 + length
        if place > len(data):
            raise ValueError("it is truncated")
        yield data[place - length : place]


def _number(data: bytes, place: int) -> int:
    if place + 8 > len(data):
        raise ValueError("it is truncated")
    return int(np.frombuffer(data[place : place + 8], np.uint64)[0])
