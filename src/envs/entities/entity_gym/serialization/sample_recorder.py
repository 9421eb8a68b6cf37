"""Writing samples: `entity_gym.serialization.sample_recorder`.

A file has the version (1), the length of the header, the header, and for each sample its length and itself; numbers are
8 bytes, as the machine has them (little-endian on all that entity-gym runs on).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from envs.entities import ActionName, ActionSpace, ObsSpace
from envs.entities.entity_gym.serialization.msgpack_ragged import dumps, loads
from envs.entities.entity_gym.vec_env import VecActionMask, VecEnv, VecObs, VecWrapper
from utils.errors import MusterError
from utils.ragged.buffer import RaggedBuffer, RaggedBufferF32, RaggedBufferI64

VERSION = 1


@dataclass
class Sample:
    """One step of some environments: what they showed, what was done, and with which probabilities.

    `step`, `episode`: of each environment; steps count from 0 in each episode.
    """

    obs: VecObs
    step: list[int]
    episode: list[int]
    actions: Mapping[str, RaggedBufferI64]
    probs: Mapping[str, RaggedBufferF32]
    logits: Mapping[str, RaggedBufferF32] | None

    def serialize(self) -> bytes:
        return dumps(dict(vars(self)))

    @classmethod
    def deserialize(cls, data: bytes) -> "Sample":
        """Raises ValueError: it is no sample."""
        found = loads(data)
        if not isinstance(found, dict) or set(found) != set(cls.__dataclass_fields__):
            raise ValueError("it is no sample")
        sample = cls(**found)
        if not sample._fits():
            raise ValueError("a sample has parts of another kind")
        return sample

    def _fits(self) -> bool:
        obs, numbers = self.obs, (self.step, self.episode)
        if not isinstance(obs, VecObs) or not all(isinstance(part, list) for part in numbers):
            return False
        masks = obs.action_masks
        named = (obs.features, obs.visible, self.actions, self.probs, self.logits or {})
        return (
            all(type(number) is int for number in self.step + self.episode)
            and all(isinstance(array, np.ndarray) and array.ndim == 1 for array in (obs.reward, obs.done))
            and isinstance(masks, dict)
            and all(isinstance(mask, VecActionMask) for mask in masks.values())
            and all(isinstance(part, dict) for part in named)
            and all(isinstance(buffer, RaggedBuffer) for part in named for buffer in part.values())
        )


class SampleRecorder:
    """Writes a file of samples. Raises OSError where it cannot."""

    def __init__(
        self, path: str, act_space: Mapping[str, ActionSpace] | None, obs_space: ObsSpace | None, subsample: int = 1
    ):
        self.path = path
        self.file = open(path, "wb")  # noqa: SIM115 (closed by `close`)
        self.file.write(_number(VERSION))
        act_space = None if act_space is None else dict(act_space)
        self._write(dumps({"act_space": act_space, "obs_space": obs_space, "subsample": subsample}))

    def record(self, sample: Sample) -> None:
        self._write(sample.serialize())

    def close(self) -> None:
        self.file.close()

    def _write(self, data: bytes) -> None:
        self.file.write(_number(len(data)))
        self.file.write(data)


class SampleRecordingVecEnv(VecWrapper):
    """Records each step of `inner`.

    Args:
        subsample: record each environment in one of so many steps, drawn at random.
    """

    def __init__(self, inner: VecEnv, out_path: str, subsample: int = 1):
        super().__init__(inner)
        self.out_path, self.subsample = out_path, subsample
        self.sample_recorder = SampleRecorder(out_path, inner.action_space(), inner.obs_space(), subsample)
        self.last_obs: VecObs | None = None
        self.episodes = list(range(len(inner)))
        self.next_episode = len(inner)
        self.curr_step = [0] * len(inner)
        self.rng = np.random.default_rng(0)

    def reset(self, obs_config: ObsSpace) -> VecObs:
        if self.last_obs is not None:
            self._begin_episodes(range(len(self)))
        self.curr_step = [0] * len(self)
        self.last_obs = self.inner.reset(obs_config)
        return self.last_obs

    def act(
        self,
        actions: Mapping[ActionName, Any],
        obs_filter: ObsSpace,
        probs: Mapping[str, RaggedBufferF32] | None = None,
        logits: Mapping[str, RaggedBufferF32] | None = None,
    ) -> VecObs:
        """As `VecEnv.act`; `probs` and `logits` of the actions are recorded, if given."""
        if self.last_obs is None:
            raise MusterError("SampleRecordingVecEnv.act: reset the environments first.")
        rows = np.arange(len(self))
        if self.subsample > 1:
            rows = rows[self.rng.integers(0, self.subsample, size=len(self)) == 0]
        if len(rows):
            self.sample_recorder.record(self._sample(self.last_obs, rows, actions, probs or {}, logits))
        obs = self.last_obs = self.inner.act(actions, obs_filter)
        self.curr_step = [step + 1 for step in self.curr_step]
        self._begin_episodes(np.flatnonzero(obs.done).tolist())
        return obs

    def close(self) -> None:
        self.sample_recorder.close()
        super().close()

    def _begin_episodes(self, rows: Sequence[int]) -> None:
        for row in rows:
            self.episodes[row], self.curr_step[row] = self.next_episode, 0
            self.next_episode += 1

    def _sample(self, obs: VecObs, rows: np.ndarray, actions: Any, probs: Any, logits: Any) -> Sample:
        of_rows = lambda named: {name: ragged[rows] for name, ragged in named.items()}  # noqa: E731
        infos = {i: obs.end_of_episode_info[row] for i, row in enumerate(rows) if row in obs.end_of_episode_info}
        shown = VecObs(
            features=of_rows(obs.features),
            visible=of_rows(obs.visible),
            action_masks=of_rows(obs.action_masks),
            reward=obs.reward[rows],
            done=obs.done[rows],
            metrics=obs.metrics,
            end_of_episode_info=infos,
        )
        return Sample(
            obs=shown,
            step=[self.curr_step[row] for row in rows],
            episode=[self.episodes[row] for row in rows],
            actions=of_rows(actions),
            probs=of_rows(probs),
            logits=None if logits is None else of_rows(logits),
        )


def _number(value: int) -> bytes:
    return np.uint64(value).tobytes()
