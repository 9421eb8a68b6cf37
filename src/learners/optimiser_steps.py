"""Forward passes in the run's precision, and steps of optimisers down the losses that come of them."""

from collections.abc import Callable
from typing import Any

import torch as th
import torch.nn as nn

from learners.captured_updates import CapturedUpdates, MadeNumbers
from learners.figures import Figure
from learners.non_finite import NonFiniteError, non_finite_figure
from learners.steps_on_gpu import StepsOnGpu, parameters_of
from utils.errors import MusterError
from utils.tensors.optimisers import make_step
from utils.tensors.shared_rows import average_gradients, shared_network, sharing
from utils.tensors.tensor_trees import map_tree
from utils.timing import timed

NO_GRADIENT = "the loss has no gradient: it is computed of detached values only, or under torch.no_grad()"


class OptimiserSteps:
    """What every learner does to its networks.

    Attributes:
        skipped_updates: left out because a value was not finite (`on_non_finite=skip`).
        turned_non_finite: the last such value.
        made: brings numbers that were made in main memory to the learner's device.
        captured: calls methods that make steps, by captured graphs if `cuda_graphs` is on.
        unrolls: whether networks are unrolled over batches; else they are called at single steps.
    """

    unrolls = True

    def __init__(self, args: Any):
        self.args = args
        self.skipped_updates, self.turned_non_finite = 0, ""
        self._on_gpu = StepsOnGpu()
        self.made = MadeNumbers()
        self.captured = CapturedUpdates(self, self._on_gpu, self.made)

    def _forward(self, network: Callable, *inputs: Any) -> Any:
        """`network(*inputs)`, computed in `precision`; the outputs are float32 in any case."""
        with sharing():
            if self.args.precision == "float32":
                return shared_network(network, *inputs)
            with th.autocast(th.device(self.args.device).type, dtype=th.bfloat16):
                outputs = shared_network(network, *inputs)
            return map_tree(th.Tensor.float, outputs)

    def _step(self, optimiser: th.optim.Optimizer, loss: th.Tensor, grad_norm_clip: float | None = None) -> Figure:
        """`_steps` of one optimiser."""
        return self._steps({optimiser: loss}, grad_norm_clip)[0]

    def _steps(self, losses: dict[th.optim.Optimizer, th.Tensor], clip: float | None = None) -> list[Figure]:
        """One step of each optimiser down its loss, on which no other one's parameters depend.

        Returns the norms of their gradients before these were clipped to `clip`; None: to that of the config.

        On a GPU, norms stay there, and `look_at_steps` finds out which steps were not made.

        Raises:
            NonFiniteError: a loss or gradient is not finite, and `on_non_finite` is stop; that step was not made.
            MusterError: a loss depends on no weight.
        """
        for loss in losses.values():
            if not loss.requires_grad:
                raise MusterError(f"{type(self).__name__}: {NO_GRADIENT}.")
        clip = self.args.grad_norm_clip if clip is None else clip
        with timed("gradients"):
            set_gradients(losses)
        norms: list[Figure] = []
        for optimiser, loss in losses.items():
            parameters = parameters_of(optimiser)
            norm = self._clip(optimiser, clip)
            if self._on_gpu.takes(optimiser, norm):
                with timed("optimiser"):
                    self._on_gpu.make(optimiser, loss, norm)
                norms.append(norm)
                continue
            norms.append(of_cpu := float(norm))
            turned = non_finite_figure(loss.item(), of_cpu, parameters)
            if turned:
                self._leave_out(turned)
            else:
                with timed("optimiser"):
                    make_step(optimiser)
        if self._on_gpu.full:
            self.look_at_steps()
        return norms

    def _clip(self, optimiser: th.optim.Optimizer, most: float) -> th.Tensor:
        """Clip the gradients of an optimiser's parameters; returns their norm before, a number on their device."""
        return clip_gradients(parameters_of(optimiser), most)

    def is_finite(self, optimiser: th.optim.Optimizer, loss: th.Tensor, norm: th.Tensor) -> bool:
        """Whether a step of the optimiser's parameters that it does not make itself may be made: its loss and norm.

        True on a GPU, which is not asked: `look_at_steps` finds out later.

        Raises:
            NonFiniteError: as `_steps`.
        """
        if norm.device.type == "cpu":
            turned = non_finite_figure(loss.item(), norm.item(), parameters_of(optimiser))
            if turned:
                self._leave_out(turned)
            return not turned
        self._on_gpu.remember([(optimiser, th.stack((loss.detach().float(), norm.float())))])
        if self._on_gpu.full:
            self.look_at_steps()
        return True

    def look_at_steps(self) -> None:
        """Find out which steps on a GPU were left out since the last call, for which the program waits.

        Raises:
            NonFiniteError: one was, and `on_non_finite` is stop.
        """
        for loss, norm in self._on_gpu.left_out():
            self._leave_out(non_finite_figure(loss, norm, []))

    def _leave_out(self, turned: str) -> None:
        if self.args.on_non_finite == "stop":
            raise NonFiniteError(turned)
        self.skipped_updates += 1
        self.turned_non_finite = turned


def set_gradients(losses: dict[th.optim.Optimizer, th.Tensor]) -> None:
    """Gradients of each loss, in place of older ones, for the parameters of its optimiser.

    Of processes that share the update, their mean.
    """
    parameters = [parameter for optimiser in losses for parameter in parameters_of(optimiser)]
    for parameter in parameters:
        parameter.grad = None
    th.autograd.backward(list(losses.values()))
    average_gradients(parameters)


def clip_gradients(parameters: list[th.Tensor], most: float) -> th.Tensor:
    """Scale gradients to the norm `most` if theirs is larger; returns the norm before, a number on their device."""
    norm = _norm([p.grad for p in parameters if p.grad is not None])
    # on the CPU, where it can be asked, gradients are not multiplied by 1
    if norm.device.type != "cpu" or not float(norm) < 0.999 * most:
        nn.utils.clip_grads_with_norm_(parameters, most, norm)
    return norm


def _norm(gradients: list[th.Tensor]) -> th.Tensor:
    """`nn.utils.get_total_norm`, which sorts tensors by device and type first: a third of the time of small ones."""
    first = gradients[0] if gradients else None
    if first is None or any(x.device != first.device or x.dtype != first.dtype or x.is_sparse for x in gradients):
        return nn.utils.get_total_norm(gradients)
    return th.linalg.vector_norm(th.stack(th._foreach_norm(gradients)))
