"""Updates as captured graphs of a GPU."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as th
import torch.nn as nn

from components.episode_batch import EpisodeBatch
from components.fixed_batch import FixedBatch, tensors_of
from components.one_copy import sent
from controllers.contract import controller
from learners import REGISTRY
from learners.steps_on_gpu import StepsOnGpu
from utils.tensors.captured import Captured
from utils.tensors.devices import CUDA, kind_of, learner_device, to_device

Make = Callable[[], np.ndarray]
# values of data_parallel
ALONE = ("0", "1")


class MadeNumbers:
    """Brings numbers that were made in main memory to a device: random ones, say, of NumPy's generator.

    A captured graph cannot: it gets those that would be made within it before, in the same order.
    """

    def __init__(self) -> None:
        self._listed: list[Make] | None = None
        self._given: Iterator[th.Tensor] | None = None

    def __call__(self, make: Make, device: Any) -> th.Tensor:
        """What `make` returns, always in the same shape and type, on `device`."""
        if self._given is not None:
            return next(self._given)
        if self._listed is not None:
            self._listed.append(make)
        return to_device(th.from_numpy(make()), device)

    @contextmanager
    def listed(self) -> Iterator[list[Make]]:
        """The functions that are called in this block."""
        self._listed = []
        try:
            yield self._listed
        finally:
            self._listed = None

    @contextmanager
    def given(self, tensors: Iterable[th.Tensor]) -> Iterator[None]:
        """In this block, these are the numbers, one after the other."""
        self._given = iter(tensors)
        try:
            yield
        finally:
            self._given = None


class CapturedUpdates:
    """Calls methods of a learner, which make steps of its optimisers: by replaying a graph of them, if it can.

    A method gets batches, tensors, numbers that change (floats), and words that decide what it does. It returns a tree
    of tensors, and changes nothing that is not on the GPU.
    """

    def __init__(self, learner: Any, steps: StepsOnGpu, made: MadeNumbers):
        self._learner, self._steps, self._made = learner, steps, made
        self._graphs: Captured | None = None
        # by form: what a method makes in main memory, and the optimisers of its steps
        self._makes: dict[Hashable, list[Make]] = {}
        self._optimisers: dict[Hashable, list[th.optim.Optimizer]] = {}
        self._networks: list[th.Tensor] = []

    def __call__(self, method: Callable, *arguments: Any) -> Any:
        if not (captures_updates(self._learner.args) and has_fixed_shapes(self._learner)):
            return method(*arguments)
        given = _Arguments(arguments)
        form = method.__name__, given.form
        makes = self._makes.get(form)
        if makes is None:
            with self._made.listed() as self._makes[form]:
                return method(*arguments)
        device = self._learner.args.device
        arrays = [make() for make in makes]
        numbers = sent(arrays, [th.from_numpy(array).dtype for array in arrays], device)
        groups = [group for optimiser in self._learner.optimisers.values() for group in optimiser.param_groups]

        def steps(tensors: list[th.Tensor], floats: Sequence[th.Tensor]) -> tuple:
            own, rates = len(given.tensors), floats[: len(groups)]
            with self._made.given(tensors[own:]), self._steps.apart() as made, _rates(groups, rates):
                found = method(*given.put_together(tensors[:own], floats[len(groups) :]))
            self._optimisers[form] = [optimiser for optimiser, _ in made]
            return found, tuple(figures for _, figures in made)

        if self._graphs is None:
            console = self._learner.logger.console_logger
            self._graphs = Captured("Updates", device, self._memory, console)
        floats = [float(group["lr"]) for group in groups] + given.floats
        returned = self._graphs(steps, [*given.tensors, *numbers], floats, form)
        if returned is None:
            with self._made.given(numbers):
                return method(*arguments)
        found, figures = returned
        self._steps.remember(zip(self._optimisers[form], figures, strict=True))
        if self._steps.full:
            self._learner.look_at_steps()
        return found

    def _memory(self) -> Iterator[th.Tensor]:
        """What steps use beside their arguments."""
        learner = self._learner
        if not self._networks:
            macs = [learner.mac, learner.target_mac, *learner.mac_copies]
            parts = [*macs, *learner.networks.values(), *learner.target_networks.values()]
            for module in (module for part in parts for module in _modules(part)):
                self._networks += [*module.parameters(), *module.buffers()]
        yield from self._networks
        for optimiser in learner.optimisers.values():
            for state in optimiser.state.values():
                yield from (x for x in state.values() if isinstance(x, th.Tensor))


def captures_updates(args: SimpleNamespace) -> bool:
    """Whether updates are to be captured.

    Not those of several processes; nor where another thread acts meanwhile, which draws random numbers.
    """
    if args.cuda_graphs != "on" or kind_of(args.device) != CUDA:
        return False
    return str(args.data_parallel) in ALONE and args.collection != "async"


def has_fixed_shapes(learner: Any) -> bool:
    """Whether a learner calls networks in shapes that the values of a batch do not decide."""
    mac = learner.mac
    return not learner.unrolls or (controller(mac).supports_packing and mac._agent_supports_packing())


def why_nothing_is_captured(config: Mapping[str, Any]) -> str:
    """Why `cuda_graphs=on` does nothing for a run of this config, in words; empty if it does, or may."""
    device = learner_device(config)
    if kind_of(device) != CUDA:
        return f"the learner is on {device}"
    if config["collection"] == "async" or config["overlap"]:
        return "collection=async draws random numbers while graphs would be captured"
    if str(config["data_parallel"]) not in ALONE:
        return "data_parallel shares updates among several processes"
    # the trait: batches have the same shapes each time, and `CapturedUpdates` calls what makes steps
    captured = [name for name in REGISTRY if REGISTRY.entry(name).traits.get("captured")]
    learner = REGISTRY.entry(config["learner"])
    if learner.declared and config["learner"] not in captured and not config["teams"]:
        return f"updates of learner={config['learner']} are not captured, but those of {', '.join(captured)} are"
    return ""


def _modules(part: Any) -> list[nn.Module]:
    """A network, or those that a controller has."""
    return [part] if isinstance(part, nn.Module) else [x for x in _attributes(part) if isinstance(x, nn.Module)]


def _attributes(part: Any) -> Iterable[Any]:
    return () if part is None else vars(part).values()


@contextmanager
def _rates(groups: list[dict], rates: Sequence[th.Tensor]) -> Iterator[None]:
    """In this block, learning rates are these tensors, which a graph reads at each replay."""
    before = [group["lr"] for group in groups]
    for group, rate in zip(groups, rates, strict=True):
        group["lr"] = rate
    try:
        yield
    finally:
        for group, rate in zip(groups, before, strict=True):
            group["lr"] = rate


class _Arguments:
    """Arguments of a method as tensors, floats, and a form that says what else they are."""

    def __init__(self, arguments: tuple):
        self._arguments = arguments
        self.tensors: list[th.Tensor] = []
        self.floats: list[float] = []
        form: list[Hashable] = []
        for value in arguments:
            if isinstance(value, EpisodeBatch):
                self.tensors += tensors_of(value)
                form.append((tuple(value.scheme), tuple(x.shape for x in tensors_of(value))))
            elif isinstance(value, th.Tensor):
                self.tensors.append(value)
                form.append(value.shape)
            elif isinstance(value, float):
                self.floats.append(value)
                form.append(float)
            else:
                form.append(value)
        self.form = tuple(form)

    def put_together(self, tensors: Sequence[th.Tensor], floats: Sequence[th.Tensor]) -> list[Any]:
        """The arguments, made of these."""
        next_tensor, next_float = iter(tensors), iter(floats)
        found: list[Any] = []
        for value in self._arguments:
            if isinstance(value, EpisodeBatch):
                found.append(FixedBatch.like(value, [next(next_tensor) for _ in tensors_of(value)]))
            elif isinstance(value, th.Tensor):
                found.append(next(next_tensor))
            else:
                found.append(next(next_float) if isinstance(value, float) else value)
        return found
