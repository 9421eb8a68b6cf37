"""Work that a GPU repeats as one captured graph (`torch.cuda.CUDAGraph`): one launch in place of hundreds.

A graph repeats operations, not Python: on the same memory, in the same shapes, and without asking for a value.
"""

import threading
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch as th

from utils.tensors.devices import to_device
from utils.tensors.tensor_trees import Tree, leaves, map_tree
from utils.timing import timing

# calls that are made operation by operation before one is captured, as torch's documentation asks
WARM_UPS = 3
# graphs of one object: where shapes differ from call to call, more would cost memory and gain nothing
MOST = 16
# what optimisers say that are to be captured, in these calls
warnings.filterwarnings("ignore", "This instance was constructed with capturable=True")

# function(tensors, numbers) -> tree of tensors
Function = Callable[[list[th.Tensor], Sequence[th.Tensor]], Tree]
_thread = threading.local()


def capturing() -> bool:
    """Whether what this thread computes becomes part of a graph: it is computed again at each replay."""
    return getattr(_thread, "capturing", False)


@contextmanager
def _noted() -> Iterator[None]:
    """What this thread computes within is captured."""
    _thread.capturing = True
    try:
        yield
    finally:
        _thread.capturing = False


class Captured:
    """Calls functions of tensors, each call once: the first ones as they are, later ones by replaying a graph of them.

    Such a function must do the same in each call, but for what its arguments are. It may change tensors in place; what
    else it changes in Python, it changes in the first calls only.

    Args:
        what: "Updates", say, for the warning.
        device: a GPU.
        memory: the tensors that functions use beside their arguments. Where one has other memory than before, as after
            a checkpoint was loaded, all is captured again.
        console: gets a warning if something cannot be captured; from then on nothing is.
    """

    def __init__(self, what: str, device: Any, memory: Callable[[], Iterable[th.Tensor]], console: Any):
        self._what, self._device, self._memory, self._console = what, device, memory, console
        self._graphs: dict[Hashable, _Graph] = {}
        self._failed = False
        self._stream: Any = None
        self._pool: Any = None

    def __call__(
        self, function: Function, tensors: Sequence[th.Tensor], numbers: Sequence[float] = (), form: Hashable = ()
    ) -> Tree:
        """What the function returns, in memory of its own; None: it was not called, and is not to be captured.

        Args:
            numbers: the function gets them as tensors of no axes.
            form: whatever else decides what it does.
        """
        if self._failed:
            return None
        if self._stream is None:
            self._stream, self._pool = th.cuda.Stream(self._device), th.cuda.graph_pool_handle()
        key = form, len(numbers), tuple((x.shape, x.dtype) for x in tensors)
        places = [x.data_ptr() for x in self._memory()]
        graph = self._graphs.get(key)
        if graph is not None and graph.captured and graph.places != places:
            self._forget()
            graph = None
        if graph is None:
            if len(self._graphs) >= MOST:
                return None
            graph = self._graphs[key] = _Graph(tensors, len(numbers), self._device)
        graph.take(tensors, numbers)
        if graph.calls < WARM_UPS:
            return self._warm_up(graph, function)
        if not graph.captured:
            try:
                self._capture(graph, function, places)
            except Exception as error:
                self._give_up(error)
                return None
        return graph.replay()

    def _warm_up(self, graph: "_Graph", function: Function) -> Tree:
        """A call on the stream that captures, by which libraries and autograd take what they need there."""
        graph.calls += 1
        here = th.cuda.current_stream(self._device)
        self._stream.wait_stream(here)
        with th.cuda.stream(self._stream):
            found = function(graph.tensors, graph.numbers)
        here.wait_stream(self._stream)
        return found

    def _capture(self, graph: "_Graph", function: Function, places: list[int]) -> None:
        captured = th.cuda.CUDAGraph()
        # the outer context brings back the stream where the inner one fails; other threads may use the card meanwhile
        with (
            th.cuda.stream(self._stream),
            timing(None),
            th.cuda.graph(captured, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"),
            _noted(),
        ):
            found = function(graph.tensors, graph.numbers)
        graph.outputs = map_tree(th.Tensor.detach, found)
        graph.places, graph.captured = places, captured

    def _give_up(self, error: Exception) -> None:
        self._failed = True
        self._forget()
        for generator in th.cuda.default_generators:
            # one that took part in a capture that failed refuses to draw
            generator.graphsafe_set_state(generator.clone_state())
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        self._console.warning(
            f"{self._what} could not be captured as a graph of the GPU, and continue as single operations "
            f"(cuda_graphs=on has no effect on them): {reason}"
        )

    def _forget(self) -> None:
        th.cuda.synchronize()
        self._graphs.clear()


class _Graph:
    """The arguments of a function in memory that stays, and what was captured of it."""

    def __init__(self, tensors: Sequence[th.Tensor], numbers: int, device: Any):
        self.tensors = [th.empty_like(x, memory_format=th.contiguous_format).detach() for x in tensors]
        self._numbers = th.zeros(numbers, device=device)
        self.numbers = self._numbers.unbind()
        self._known: list[float] = []
        self.calls = 0
        self.places: list[int] = []
        self.captured: Any = None
        self.outputs: Tree = None

    def take(self, tensors: Sequence[th.Tensor], numbers: Sequence[float]) -> None:
        _copy(tensors, self.tensors)
        if self._known != list(numbers):
            self._known = list(numbers)
            self._numbers.copy_(to_device(th.tensor(self._known), self._numbers.device))

    def replay(self) -> Tree:
        self.captured.replay()
        found = map_tree(th.empty_like, self.outputs)
        _copy([x for _, x in leaves(self.outputs)], [x for _, x in leaves(found)])
        return found


def _copy(tensors: Sequence[th.Tensor], to: Sequence[th.Tensor]) -> None:
    """Copy tensors, those of one type in one operation."""
    types: dict[th.dtype, tuple[list, list]] = {}
    for source, target in zip(tensors, to, strict=True):
        sources, targets = types.setdefault(source.dtype, ([], []))
        sources.append(source)
        targets.append(target)
    for sources, targets in types.values():
        th._foreach_copy_(targets, sources)
