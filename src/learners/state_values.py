"""The values of states that actor-critics learn: by a critic, with a memory or without, or by the network that acts."""

from collections.abc import Callable
from typing import Any

import torch as th
import torch.nn.functional as F

from controllers.contract import controller
from controllers.hidden_states import memory_before
from controllers.inputs import known_before_steps
from controllers.unroll import BatchUnroll
from learners import recurrent_critic
from learners.action_evaluation import field_of
from learners.recurrent_critic import CriticMemory
from utils.errors import ConfigError
from utils.rl_utils import memory_starts, valid_transitions
from utils.tensors.contracts import require_shape
from utils.tensors.schemes import AGENTS, MEMORY, is_rollout
from utils.tensors.tensor_trees import map_tree

Field = Callable[[str], th.Tensor]
PRESENT = "present"


class StateValues:
    """Asks a critic for the values of a batch's states.

    Args:
        critic: `[B, T, n]` of it are values; one with `of_outputs` takes them from the outputs of `mac`.
        forward: calls a network with its inputs, in the config's precision.
        size: the environments of a rollout.
        mix: makes the team's values `[B, T, 1]` of the agents' `[B, T, n]` and of states `[B, T, S]`; None: they stay
            the agents'.
        padding: whether `of` values states behind the end of episodes, too, as networks see zeros.
    """

    def __init__(
        self,
        critic: Any,
        mac: Any,
        forward: Callable,
        size: int,
        mix: Callable | None = None,
        padding: bool = False,
    ):
        self._critic, self._mac, self._forward = critic, controller(mac), forward
        self.shared_trunk = hasattr(critic, "of_outputs")
        # of the environment, which the network that acts has for every agent
        self._one_value = self.shared_trunk and self._mac.one_value
        self.memory = CriticMemory(size, critic) if getattr(critic, "rnn", None) is not None else None
        self._mix, self._padding = mix, padding
        self._from_acting = False

    def take_from_acting(self) -> None:
        """Take the values of a rollout's states from the field "value", which decisions brought.

        Raises:
            ConfigError: the controller may have a memory, which the state after the last decision needs, and batches
                do not keep it.
        """
        if not (self._mac.memoryless or self._mac.keeps_memory):
            raise ConfigError(
                "use_rollout_values=True needs a controller without a memory, such as mac=entity_mac, or "
                "keep_memory=True, by which the state after the last decision is known."
            )
        self._from_acting = True

    def of(self, batch: Any, critic: Any = None) -> th.Tensor:
        """Of all states of a batch, `[B, T, n]`, or `[B, T, 1]` of the environment or by a mixer.

        Args:
            critic: another one of the same form and without a memory; None: its own.
        """
        return self._mixed(batch, self._of(batch, critic))

    def _of(self, batch: Any, critic: Any) -> th.Tensor:
        if self.memory is not None:
            return self.memory.values(self._critic, batch, self._seen(batch), self._padding)
        if self._from_acting and "value" in batch.scheme:
            if not is_rollout(batch):
                return self._of_episodes(batch)
            acted = self._of_outputs(batch["value"][:, :-1]) * batch["filled"][:, :-1]
            return th.cat([acted, self._of_trunk(self._last_step(batch))], dim=1)
        if self.shared_trunk:
            return self._of_trunk(batch)
        values = self._forward((critic or self._critic).values, self._seen(batch), 2)
        if values.dim() != 3 or values.size(-1) != 1:  # of the environment
            sizes = {"B": batch.batch_size, "T": batch.max_seq_length, "n": batch.groups[AGENTS]}
            require_shape(f"the critic {type(self._critic).__name__}", values, sizes)
        return values

    def _of_episodes(self, batch: Any) -> th.Tensor:
        """Of acting where actions were chosen, and of closing states, where none were."""
        taken = F.pad(valid_transitions(batch), (0, 0, 0, 1)) > 0
        return th.where(taken, self._of_outputs(batch["value"]), self._of_trunk(batch))

    def _last_step(self, batch: Any) -> Any:
        """The last step of a rollout, which starts from the memory after the decision before it."""
        last = batch[:, -1:]
        if self._mac.memoryless:
            return last
        rows, two = batch.batch_size, batch[:, -2:]
        self._mac.init_hidden(rows)
        initial = self._mac.hidden_states
        after = memory_before(two, initial, MEMORY)  # each decision; the last step has none
        memory = map_tree(lambda x: x.reshape(rows, 2, batch.groups[AGENTS], -1), after)
        step = th.ones(1, dtype=th.long, device=batch["filled"].device)
        known = known_before_steps(two, memory, initial, memory_starts(batch)[:, -2:], step)
        last.data.episode_data |= {key: x[:, 0] for key, x in known.items()}
        return last

    def _of_trunk(self, batch: Any) -> th.Tensor:
        unroll = BatchUnroll(batch, self._mac, packed=is_rollout(batch) or not self._padding)
        with self._mac.before_actions():
            return unroll.spread(self._of_outputs(self._forward(unroll.outputs, self._mac)))

    def of_sample(self, sample: Any, unroll: BatchUnroll, outputs: Any = None) -> th.Tensor:
        """Of a sample that the controller is unrolled over, with these outputs: as `of`.

        `outputs`: None if they are not known, of a critic that does not need them.
        """
        return self._mixed(sample, self._of_sample(sample, unroll, outputs))

    def _mixed(self, batch: Any, values: th.Tensor) -> th.Tensor:
        if self._mix is None:
            return values
        if PRESENT in batch.scheme:
            values = values * batch[PRESENT].squeeze(3)
        return self._mix(values, batch["state"])

    def _of_sample(self, sample: Any, unroll: BatchUnroll, outputs: Any) -> th.Tensor:
        if self.memory is not None:
            return recurrent_critic.unroll(self._critic, sample, self._seen(sample))[0]
        if self.shared_trunk:
            return unroll.spread(self._of_outputs(outputs))
        field = self._normalised(lambda key: unroll.take(field_of(sample, key)))
        return unroll.spread(self._forward(self._critic.values, field, unroll.axes))

    def _of_outputs(self, outputs: th.Tensor) -> th.Tensor:
        values = self._critic.of_outputs(outputs)
        return values[..., :1] if self._one_value else values

    def fields_before(self, batch: Any) -> dict[str, th.Tensor]:
        """What the critic remembers from before a batch, as constant fields of a sample."""
        return {} if self.memory is None else self.memory.before(batch)

    def fields_of_episodes(self, batch: Any) -> dict[str, th.Tensor]:
        """The same before the first step of whole episodes: nothing is remembered."""
        return {} if self.memory is None else self.memory.empty(batch)

    @th.no_grad()
    def fields_before_steps(self, sample: Any, steps: th.Tensor) -> dict[str, th.Tensor]:
        """The same before some steps of a sample, int64 `[K]`: `[B, K, ...]` each."""
        if self.memory is None:
            return {}
        return self.memory.before_steps(self._critic, sample, self._seen(sample), steps)

    def next_rollout(self) -> None:
        """The updates from a rollout are done."""
        if self.memory is not None:
            self.memory.next_rollout()

    def state_dict(self) -> dict[str, th.Tensor]:
        """The critic's memory; its weights are the learner's."""
        return {} if self.memory is None else self.memory.state_dict()

    def load_state_dict(self, state: dict[str, th.Tensor]) -> None:
        if self.memory is not None:
            self.memory.load_state_dict(state)

    def _seen(self, batch: Any) -> Field:
        return self._normalised(lambda key: field_of(batch, key))

    def _normalised(self, field: Field) -> Field:
        norms = self._mac.normalisers
        return lambda key: norms[key].normalize(field(key)) if key in norms else field(key)
