"""A buffer with the transforms of store_transforms before it and those of sample_transforms behind it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as th

from components.buffers import REGISTRY
from components.buffers.frame_ring import FrameRing
from components.buffers.transform_lists import STORED, transforms_of
from components.episode_batch import EpisodeBatch
from components.sampling.compose import Compose, Minibatches, TransformContext
from components.sampling.drawn import Drawn
from components.sampling.listed import Listed, listed_transforms
from components.update_plan import Supply


def build_buffer(
    name: str, scheme: dict, groups: dict, max_seq_length: int, preprocess: dict, args: Any, logger: Any
) -> Any:
    """The registered buffer of this name, with its transforms if the config lists any."""
    if not (args.store_transforms or args.sample_transforms or args.debug_transforms):
        return REGISTRY[name](scheme, groups, max_seq_length, preprocess, args, logger)
    return TransformedBuffer(name, scheme, groups, max_seq_length, preprocess, args, logger)


class TransformedBuffer:
    """A `Buffer` that stores and samples through transforms. They are tried on zeros, which shows the fields they make.

    Raises:
        ConfigError: a transform needs a field that no batch has.
    """

    def __init__(
        self,
        name: str,
        scheme: dict,
        groups: dict,
        max_seq_length: int,
        preprocess: dict,
        args: SimpleNamespace,
        logger: Any,
    ):
        store, sample = transforms_of({**vars(args), "buffer": name})
        console = logger.console_logger
        self._draws = REGISTRY.entry(name).traits.get("gives") == "drawn" if name in REGISTRY else False
        if self._draws and not sample:
            sample = listed_transforms("sample_transforms", ["next_states"], "drawn", STORED)

        def composed(key: str, transforms: list[Listed], quiet: bool = False) -> Compose:
            return Compose(transforms, TransformContext(key, args, None if quiet else console), args.debug_transforms)

        self._store, self._sample = composed("store_transforms", store), composed("sample_transforms", sample)
        tried = composed("store_transforms", store, quiet=True)(_zeros(scheme, groups, max_seq_length, preprocess))
        derived = {new for new, _ in preprocess.values()} | {"filled"}
        scheme = {key: info for key, info in tried.scheme.items() if key not in derived}
        self._buffer = REGISTRY[name](scheme, groups, tried.max_seq_length, preprocess, args, logger)
        self.taken_on = getattr(self._buffer, "taken_on", "")
        self.kept_on, self.takes = getattr(self._buffer, "kept_on", ""), getattr(self._buffer, "takes", ())
        if self._draws:
            ring = FrameRing(scheme, groups, preprocess, 2)
            tried = Drawn(ring, np.zeros(args.batch_size, dtype=np.int64))
        else:
            tried = _zeros(scheme, groups, tried.max_seq_length, preprocess)
        tried = composed("sample_transforms", sample, quiet=True)(tried)
        self.scheme = (next(iter(tried)) if isinstance(tried, Minibatches) else tried).scheme
        self.groups, self.preprocess, self.journal = groups, preprocess, self._buffer.journal

    def insert(self, batch: EpisodeBatch, source: int = 0) -> int:
        self._store.context.source = source
        seen = batch.on(self.taken_on) if self.taken_on else batch
        return self._buffer.insert(self._store(seen), source)

    def take_live(self, key: str, value: Any) -> None:
        """See `experiment.live`."""
        if hasattr(self._buffer, "take_live"):
            self._buffer.take_live(key, value)

    def ready(self) -> bool:
        return self._buffer.ready()

    def sample(self) -> EpisodeBatch | Minibatches:
        """The next batch to learn from, or several (`Minibatches`), for an update each."""
        return self._sample(self._buffer.draw() if self._draws else self._buffer.sample())

    def hold_out(self) -> EpisodeBatch | Minibatches | None:
        """A sample of what is held out, see `HoldOutBuffer`."""
        if not hasattr(self._buffer, "hold_out"):
            return None
        sample = self._buffer.draw_held_out() if self._draws else self._buffer.hold_out()
        return None if sample is None else self._sample(sample)

    def update_priorities(self, ids: th.Tensor, values: th.Tensor) -> None:
        """See `PrioritisedBuffer`."""
        self._buffer.update_priorities(ids, values)

    def sample_size(self) -> float:
        return self._buffer.sample_size()

    def supply(self) -> Supply:
        """See `TransitionReplay`."""
        return self._buffer.supply()

    def state_dict(self) -> dict[str, Any]:
        return {
            "buffer": self._buffer.state_dict(),
            "store_units": self._store.state_dict(),
            "sample_units": self._sample.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._buffer.load_state_dict(state["buffer"])
        self._store.load_state_dict(state["store_units"])
        self._sample.load_state_dict(state["sample_units"])


def _zeros(scheme: dict, groups: dict, max_seq_length: int, preprocess: dict) -> EpisodeBatch:
    """A row of filled steps."""
    batch = EpisodeBatch(scheme, groups, 1, max_seq_length, preprocess=preprocess)
    batch["filled"].fill_(1)
    return batch
