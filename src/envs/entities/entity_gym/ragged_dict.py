"""Ragged buffers by name, which grow and are indexed together: `entity_gym.ragged_dict`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from envs.entities.entity_gym.vec_env import VecActionMask
from utils.ragged.buffer import RaggedBuffer


class _Buffers:
    buffers: dict[str, Any]

    def extend(self, batch: Mapping[str, Any]) -> None:
        for name, more in batch.items():
            if name in self.buffers:
                self.buffers[name].extend(more)
            else:
                self.buffers[name] = more.clone()

    def clear(self) -> None:
        for buffer in self.buffers.values():
            buffer.clear()

    def __getitem__(self, index: Any) -> dict[str, Any]:
        return {name: buffer[index] for name, buffer in self.buffers.items()}


@dataclass
class RaggedBatchDict(_Buffers):
    """Buffers of one class; `RaggedBatchDict[np.float32]` in annotations is the same."""

    rb_cls: type[RaggedBuffer]
    buffers: dict[str, RaggedBuffer] = field(default_factory=dict)

    def __class_getitem__(cls, scalar: Any) -> type["RaggedBatchDict"]:
        return cls


@dataclass
class RaggedActionDict(_Buffers):
    """Masks of actions."""

    buffers: dict[str, VecActionMask] = field(default_factory=dict)
