"""The contract of an agent's network with its controller, beyond PyMARL's `init_hidden` and `forward`."""

from typing import Any

import torch as th
import torch.nn as nn


class Agent(nn.Module):
    """A network shared by agents: `forward(inputs, hidden_state) -> (outputs [N, A], hidden state)`.

    Its memory is a tensor or a tree of dicts and tuples of tensors, with a row for each agent.

    An agent that also has `encode` and `sequence` is unrolled over all steps of a batch at once, without padding:

    - `encode(inputs) -> x`, `[P, ...]`, of the P steps of all sequences. `inputs.through(layer)` is a linear layer of
      all they see; with `takes_parts`, `inputs.observations[field]` and `inputs.others` are its parts.
    - `sequence(x, sizes, hidden_state) -> (outputs [P, A], hidden states after each step, leaves [P, ...])` of
      sequences of unequal length, time first: step 0 of the first `sizes[0]` sequences, step 1 of the first `sizes[1]`
      of them, ... (the order of `torch.nn.utils.rnn.PackedSequence`); `hidden_state` has a row for each of the first.

    `supports_packing`: it has both, and they compute the same as `forward`. A subclass that changes `forward`, but not
    `sequence`, is unrolled step by step.
    """

    supports_packing = False
    # the constructor gets a dict of the parts' shapes and `forward` parts, in place of one size and rows
    takes_parts = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        parent = next(ancestor for ancestor in cls.__mro__[1:] if issubclass(ancestor, Agent))
        if "supports_packing" in vars(cls):
            return
        if cls.sequence is not parent.sequence:
            cls.supports_packing = True
        elif cls.forward is not parent.forward:
            cls.supports_packing = False

    def init_hidden(self) -> Any:
        """The memory before the first step of one agent, leaves `[1, ...]`."""
        raise NotImplementedError(f"{type(self).__name__} does not define init_hidden()")

    def encode(self, inputs: Any) -> th.Tensor:
        raise NotImplementedError(f"{type(self).__name__} is unrolled step by step")

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: Any) -> tuple[th.Tensor, Any]:
        raise NotImplementedError(f"{type(self).__name__} is unrolled step by step")

    def forward(self, inputs: Any, hidden_state: Any) -> tuple[th.Tensor, Any]:
        """One step of N agents: a sequence of length 1 each."""
        encoded = self.encode(inputs)
        return self.sequence(encoded, [len(encoded)], hidden_state)


def encoded_by(inputs: Any, *layers: nn.Linear) -> th.Tensor:
    """Outputs of linear layers that see all of the inputs of P agents, side by side: for `Agent.encode`."""
    outputs = [layer(inputs) if isinstance(inputs, th.Tensor) else inputs.through(layer) for layer in layers]
    return outputs[0] if len(outputs) == 1 else th.cat(outputs, dim=1)
