"""What a run asks of its parts beyond PyMARL's contracts, and the answers of a part that knows nothing of it.

A part of the user's own may have any of these attributes: `PlainLearner.of(learner).mixer` is the learner's, or None.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch as th
from torch import nn

from utils.completed import Completed
from utils.tensors.devices import CPU


class PlainLearner(Completed):
    """A learner of PyMARL's has `train`, `cuda`, `save_models` and `load_models`, and logs what it likes."""

    # updates that were left out because a value was not finite, and the last such value; None: it does not look
    skipped_updates: int | None = None
    turned_non_finite = ""
    # the step at which statistics were logged last
    log_stats_t: int | None = None
    # of the transitions of the last sample, `[B]`
    new_priorities: th.Tensor | None = None
    mixer: nn.Module | None = None
    target_mac: Any = None
    networks: Mapping[str, nn.Module] = {}
    target_networks: Mapping[str, nn.Module] = {}
    optimisers: Mapping[str, th.optim.Optimizer] = {}
    # sample -> the loss on one that is not learned from
    test_loss: Callable[[Any], float] | None = None

    def take_extra_uses(self) -> int:
        """Uses of transitions that are owed to the update plan since the last call."""
        return 0

    # (rollout, t_env): look at a rollout as the learner's team sees it, `t_env` steps into the run, before it is stored
    take_rollout: Callable[[Any, int], None] | None = None

    def look_at_steps(self) -> None:
        """Look at updates whose figures are still on a GPU.

        Raises:
            NonFiniteError: one was left out, and `on_non_finite` is "stop".
        """


class PlainBuffer(Completed):
    """A buffer of the user's own has `insert`, `ready` and `sample`."""

    # the devices on which it keeps experience, and wants it ("": any)
    kept_on = CPU
    taken_on = ""
    # its memory: what for, on which device, how many bytes
    takes: Sequence[tuple[str, str, int]] = ()

    def hold_out(self) -> Any:
        """A sample of what is held out of learning; None: nothing is."""
        return None
