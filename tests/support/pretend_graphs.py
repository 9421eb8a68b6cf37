"""Captured graphs of the pretend GPU (tests/support/pretend_gpu.py): operations are recorded, and repeated on the same
memory.

As on a card,

- what is captured is not computed: memory that was there before stays as it was, and what the captured operations make
  has no values (here NaN and zeros) before the first replay;
- a replay reads and writes the memory that the captured operations did. A tensor that was exchanged since is not seen,
  and one that nobody keeps any more is an error (a card would read whatever is there by then);
- while capturing, nothing may wait for the card or send it something, and no result may have a size that values decide;
- random numbers come from the default generator or a registered one, and continue its sequence at each replay;
- an optimiser makes steps only if its parameters are declared `capturable`.

It cannot show: speed, memory pools, streams, and what kernels of CUDA themselves refuse.
"""

from contextlib import contextmanager, nullcontext
from itertools import count

import torch as th

REFUSED = "operation not permitted when stream is capturing"
# the graph that is being captured
capturing: "CUDAGraph | None" = None
_pools = count(1)


class CUDAGraph:
    """In the place of `torch.cuda.CUDAGraph`."""

    def __init__(self):
        self._steps: list[tuple] = []  # operation, its arguments, and (tensor, number of the output) that it makes
        self._aliases: list[th.Tensor] = []  # of the memory that they read and write
        self._made: dict[int, th.UntypedStorage] = {}  # memory of captured operations, by address
        self._before: dict[int, tuple] = {}  # memory that they write: (memory, its content before)
        self._generators = [th.default_generator]
        self.captured, self.replays = False, 0

    def register_generator_state(self, generator) -> None:
        self._generators.append(generator)

    def pool(self):
        return graph_pool_handle()

    def reset(self) -> None:
        self.__init__()

    def replay(self) -> None:
        """Raises: RuntimeError: nothing was captured, or memory that it reads was given back."""
        if not self.captured:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        if capturing is not None:
            raise RuntimeError(REFUSED)
        for storage, held in self._read.values():
            if th._C._storage_Use_Count(storage._cdata) <= held:
                raise RuntimeError("an illegal memory access: a captured graph reads memory that was given back")
        self.replays += 1
        for function, args, kwargs, outputs in self._steps:
            found = leaves(function(*args, **kwargs))
            for tensor, place in outputs:
                tensor.copy_(found[place])

    def execute(self, function, args, kwargs):
        """As `execute`; the operation is recorded."""
        generator = kwargs.get("generator")
        if generator is not None and generator._cdata not in [known._cdata for known in self._generators]:
            raise RuntimeError(f"{REFUSED}: the generator is not registered with the graph")
        bare_args, bare_kwargs = mapped(bare, (args, kwargs))
        written = _tensors(_written(function, bare_args, bare_kwargs))
        for tensor in written:
            if _address(tensor) not in self._made and _address(tensor) not in self._before:
                storage = tensor.untyped_storage()
                self._before[_address(tensor)] = storage, storage.clone()
        given = {_address(x) for x in _tensors((bare_args, bare_kwargs))}
        found = function(*bare_args, **bare_kwargs)
        own = [(x, i) for i, x in enumerate(leaves(found)) if isinstance(x, th.Tensor) and _address(x) not in given]
        self._made |= {_address(x): x.untyped_storage() for x, _ in own}
        if own or (written and th.Tag.inplace_view not in function.tags):
            outputs = [(self._alias(x), i) for x, i in own]
            self._steps.append((function, *mapped(self._kept, (args, kwargs)), outputs))
        return found

    def begin(self) -> None:
        self._random = [generator.get_state() for generator in self._generators]

    def end(self, succeeded: bool) -> None:
        for generator, state in zip(self._generators, self._random, strict=True):
            generator.set_state(state)
        for storage, content in self._before.values():
            storage.copy_(content)
        for tensor, _ in (output for step in self._steps for output in step[3]):
            tensor.fill_(float("nan") if tensor.is_floating_point() else 0)
        # by its use: of memory from before the capture, how much of it is the graph's own
        self._read = {}
        for alias in self._aliases:
            storage = alias.untyped_storage()
            if _address(alias) and _address(alias) not in self._made:
                _, held = self._read.get(_address(alias), (storage, 1))
                self._read[_address(alias)] = storage, held + 1
        self._before.clear()
        self.captured = succeeded

    def _kept(self, x):
        """An argument as replays take it: a number of the CPU is part of the graph."""
        if not isinstance(x, th.Tensor):
            return x
        return self._alias(x.inner) if "inner" in vars(x) else x.clone()

    def _alias(self, tensor):
        """A tensor of the same memory, so that the graph does not keep the given one."""
        alias = th.empty(0, dtype=tensor.dtype)
        alias.set_(tensor.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())
        self._aliases.append(alias)
        return alias


@contextmanager
def graph(cuda_graph, pool=None, stream=None, capture_error_mode="global"):
    """In the place of `torch.cuda.graph`."""
    global capturing
    refuse_if_capturing("another capture")
    cuda_graph.begin()
    capturing, succeeded = cuda_graph, False
    try:
        yield
        succeeded = True
    finally:
        capturing = None
        cuda_graph.end(succeeded)


def refuse_if_capturing(what: str) -> None:
    if capturing is not None:
        raise RuntimeError(f"{REFUSED}: {what}")


def execute(function, args, kwargs):
    """The result of an operation on the CPU's tensors within the given ones; recorded if a graph is being captured."""
    if capturing is not None:
        return capturing.execute(function, args, kwargs)
    args, kwargs = mapped(bare, (args, kwargs))
    return function(*args, **kwargs)


def leaves(tree) -> list:
    """What is in lists, tuples and mappings, in order: torch's own `tree_flatten` takes five times as long."""
    found, todo = [], [tree]
    while todo:
        x = todo.pop()
        kind = type(x)
        if kind is tuple or kind is list or _has_fields(x):
            todo.extend(reversed(x))
        elif isinstance(x, dict):
            todo.extend(reversed(x.values()))
        else:
            found.append(x)
    return found


def mapped(function, tree):
    """The same tree, with the function of each leaf."""
    kind = type(tree)
    if kind is tuple or kind is list:
        return kind([mapped(function, x) for x in tree])
    if isinstance(tree, dict):
        return kind((key, mapped(function, x)) for key, x in tree.items())
    if _has_fields(tree):
        parts = [mapped(function, x) for x in tree]
        return kind(*parts) if hasattr(tree, "_fields") else kind(parts)
    return function(tree)


def _has_fields(x) -> bool:
    """Whether it is a tuple whose entries have names, a user's or torch's."""
    return isinstance(x, tuple) and (hasattr(x, "_fields") or type(x).__module__ == "torch.return_types")


def bare(x):
    return x.inner if isinstance(x, th.Tensor) and "inner" in vars(x) else x


class Stream:
    """In the place of `torch.cuda.Stream`: all work is done when it is given."""

    def __init__(self, *_, **__):
        pass

    def wait_stream(self, other) -> None:
        refuse_if_capturing("waiting for a stream that is not captured")


def graph_pool_handle() -> tuple[int, int]:
    return next(_pools), 0


def install() -> None:
    cuda = th.cuda
    cuda.CUDAGraph, cuda.graph, cuda.Stream, cuda.graph_pool_handle = CUDAGraph, graph, Stream, graph_pool_handle
    cuda.current_stream = lambda *_: Stream()
    cuda.stream = lambda _: nullcontext()
    cuda.synchronize = lambda *_: refuse_if_capturing("a synchronisation")

    def checked(optimiser) -> None:
        if capturing is not None and not all(group["capturable"] for group in optimiser.param_groups):
            raise RuntimeError("Attempting CUDA graph capture of step(), but param_groups' capturable is False.")

    # its names in older and newer versions of torch
    th.optim.Optimizer._cuda_graph_capture_health_check = checked
    th.optim.Optimizer._accelerator_graph_capture_health_check = checked


def _written(function, args, kwargs) -> list:
    """The arguments that an operation writes."""
    schema = getattr(function, "_schema", None)
    if schema is None or not schema.is_mutable:
        return []
    given = {**dict(zip((a.name for a in schema.arguments), args, strict=False)), **kwargs}
    writes = [a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    return [given[name] for name in writes if given.get(name) is not None]


def _tensors(tree) -> list:
    return [x for x in leaves(tree) if isinstance(x, th.Tensor)]


def _address(tensor) -> int:
    return tensor.untyped_storage().data_ptr()
