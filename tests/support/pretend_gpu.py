"""Pretend GPUs: tensors that say `cuda`, compute on the CPU, refuse what a GPU refuses, and count what waits for it.

`install()` makes torch, in this process, believe that there are two GPUs. What is put on `cuda` or `cuda:1` becomes a
`CardTensor` around a tensor of the CPU. Every operation on it

- is refused if it is given tensors of two devices (numbers, copies and indices aside), as by CUDA's kernels;
- is refused if a recurrent network's memory is not contiguous, as by cuDNN;
- is counted if a program would wait for a real GPU, or would send it data: see `COUNTED`.

The numbers are the CPU's to the last bit, except in the cell of GRUs, where they are equal up to rounding. What it
cannot show: speed, memory, streams, and kernels that compute otherwise than the CPU's. Captured graphs are those of
`pretend_graphs`.

How: a wrapper subclass with `__torch_dispatch__` on torch's spare device (PrivateUse1; a torch built for CPUs lacks
what autograd needs of `cuda`), and two modes. `_Kernels` sees operations that make tensors, `_Calls` those that C++
would carry to the device without asking. Modes belong to a thread; those that start after `install()` have them. To
torch there is one such device: which card a tensor is on, only the wrapper knows. What torch's own code makes in
between, as autograd does, goes with either (its `card` is None).
"""

import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import torch as th
from torch.overrides import TorchFunctionMode
from torch.utils import backend_registration
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

import pretend_graphs
from pretend_graphs import leaves, mapped

# what the card must answer: a number taken from it, a copy from it, and results whose size it decides
ANSWERS = ("item", "to_cpu", "by_size", "index_by_mask")
# what sends it something and waits until it has it: a copy, a tensor made there of lists or arrays, an index
BLOCKING = ("to_card", "made_on_cpu", "index_by_cpu", "index_by_list")
# a copy that is asked for with `non_blocking`
SENT = "sent"
WAITS, SENDS = ANSWERS + BLOCKING, (SENT, *BLOCKING)
COUNTED = (*WAITS, SENT)
SRC = str(Path(__file__).resolve().parents[2] / "src")

aten = th.ops.aten
INDEXING = {aten.index.Tensor, aten.index_put_.default, aten.index_put.default, aten._index_put_impl_.default}
INDEXING.add(aten._unsafe_index.Tensor)
BY_SIZE = {aten.nonzero.default, aten.masked_select.default, aten.unique_dim.default, aten._unique2.default}
BY_SIZE |= {aten.equal.default, aten.repeat_interleave.Tensor}
RECURRENT = (th.gru, th._VF.gru, th.lstm, th._VF.lstm)
NOTHING = object()

backend_registration._setup_privateuseone_for_python_backend(rename="card")
CARD = th.device("card", 0)
CARDS = 2


class Counts(Counter):
    """How often each of COUNTED happened, and with `places` the lines of src/ where it did."""

    places: Counter | None = None

    def note(self, what: str, times: bool | int = 1) -> None:
        if not times:
            return
        pretend_graphs.refuse_if_capturing(what)
        self[what] += int(times)
        if self.places is not None:
            self.places[what, _place()] += int(times)

    def waits(self) -> int:
        return sum(self[what] for what in WAITS)

    def answers(self) -> int:
        return sum(self[what] for what in ANSWERS)

    def sends(self) -> int:
        return sum(self[what] for what in SENDS)


counts = Counts()


def _place() -> str:
    frame = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.startswith(SRC):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename[len(SRC) + 1 :]}:{frame.f_lineno}"


class CardTensor(th.Tensor):
    """A tensor on a card; `inner` has its numbers."""

    @staticmethod
    def __new__(cls, inner, card=0):
        layout = {"strides": inner.stride(), "storage_offset": inner.storage_offset(), "layout": inner.layout}
        self = th.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype, device=CARD, **layout)
        self.inner, self.card = inner, card
        return self

    __torch_function__ = th._C._disabled_torch_function_impl
    is_cuda = property(lambda self: True)
    is_cpu = property(lambda self: False)
    device = property(lambda self: th.device("cuda", self.card or 0))
    data_ptr = lambda self: self.inner.data_ptr()  # noqa: E731

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return _compute(func, args, kwargs or {})

    def __repr__(self):
        return f"card({self.inner!r})"

    def __deepcopy__(self, memo):
        copied = CardTensor(self.inner.detach().clone(), self.card).requires_grad_(self.requires_grad)
        if getattr(self, "_is_param", False):
            copied._is_param = True
        return copied

    def __reduce_ex__(self, protocol):
        """It is saved as the CPU's tensor. A real one keeps its device, and asks `map_location` when it is loaded."""
        counts.note("to_cpu")
        return self.inner.__reduce_ex__(protocol)


def install() -> None:
    """Make torch, in this process, believe in two GPUs, for good."""
    facts = {"is_available": True, "is_initialized": False, "device_count": CARDS, "current_device": 0}
    facts |= {"mem_get_info": (8 << 30, 8 << 30), "get_device_name": "pretend GPU"}
    ignored = ("_lazy_init", "empty_cache", "manual_seed", "manual_seed_all")
    for name, value in {**facts, **dict.fromkeys(ignored)}.items():
        setattr(th.cuda, name, lambda *_, _value=value, **__: _value)
    pretend_graphs.install()
    # a network that moves keeps its weights' objects, which its optimiser has
    th.__future__.set_swap_module_params_on_conversion(True)
    # wrapper subclasses cannot be made in it
    th.inference_mode.__enter__ = lambda self: setattr(self, "off", th.no_grad()) or self.off.__enter__()
    th.inference_mode.__exit__ = lambda self, *error: self.off.__exit__(*error)
    _enter()
    run = threading.Thread.run

    def seeing(self):
        _enter()
        run(self)

    threading.Thread.run = seeing


def _enter() -> None:
    for mode in (_Kernels(), _Calls()):
        mode.__enter__()


class _Kernels(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        touched = any(isinstance(x, CardTensor) for x in leaves((args, kwargs)))
        return _compute(func, args, kwargs) if touched or _is_card(kwargs.get("device")) else func(*args, **kwargs)


class _Calls(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        found = _carried(func, args, kwargs)
        if found is not None:
            return None if found is NOTHING else found
        if func in RECURRENT and isinstance(args[0], CardTensor):
            states = [x for x in leaves(args[1:3]) if isinstance(x, CardTensor)]
            if any(not x.is_contiguous() for x in states):
                raise RuntimeError("rnn: hx is not contiguous")
        return func(*args, **kwargs)


def _compute(func, args, kwargs):
    """An operation of which a tensor is on the card, or is to be made there."""
    kwargs = dict(kwargs)
    tensors = [x for x in leaves((args, kwargs)) if isinstance(x, th.Tensor)]
    on_card = any(isinstance(x, CardTensor) for x in tensors)
    if func is aten._local_scalar_dense.default:
        counts.note("item")
        return func(args[0].inner)
    if func is aten._to_copy.default:
        return _copied(args[0], kwargs, on_card)
    if func is aten.copy_.default:
        there, here = (isinstance(x, CardTensor) for x in args[:2])
        blocking = not (kwargs.get("non_blocking") or args[2:3] == (True,))
        counts.note("to_card" if blocking else SENT, there and not here and args[1].dim() > 0)
        counts.note("to_cpu", here and not there)
        pretend_graphs.execute(func, args, kwargs)
        return args[0]
    if on_card:
        _require_one_device(func, args, tensors)
    card = next((x.card for x in tensors if isinstance(x, CardTensor) and x.card is not None), None)
    if kwargs.get("device") is not None:
        on_card, card = _is_card(kwargs["device"]), _card_of(kwargs["device"])
        kwargs["device"] = th.device("cpu")
        kwargs.pop("pin_memory", None)
    # who says how many there will be need not ask
    counts.note("by_size", on_card and func in BY_SIZE and kwargs.get("output_size") is None)
    if func is aten._thnn_fused_gru_cell.default:
        return tuple(CardTensor(x, card) for x in pretend_graphs.execute(_gru_cell, args, {}))
    if func is aten._thnn_fused_gru_cell_backward.default:
        found = pretend_graphs.execute(_gru_cell_backward, args, {})
        return tuple(None if x is None else CardTensor(x, card) for x in found)
    out = pretend_graphs.execute(func, args, kwargs)
    if not on_card:
        return out
    if th.Tag.inplace_view in func.tags:
        with no_dispatch():  # the wrapper's own shape changes, too
            func(*args, **kwargs)
        return args[0]
    # operations in place return what they were given
    known = {id(x.inner): x for x in tensors if isinstance(x, CardTensor)}

    def on_the_card(x):
        return known[id(x)] if id(x) in known else CardTensor(x, card) if isinstance(x, th.Tensor) else x

    return mapped(on_the_card, out)


def _copied(tensor, kwargs, from_card):
    target = kwargs.pop("device", None)
    to_card = from_card if target is None else _is_card(target)
    counts.note("to_cpu", from_card and not to_card)
    counts.note(SENT if kwargs.get("non_blocking") else "to_card", to_card and not from_card)
    kwargs.pop("pin_memory", None)
    out = pretend_graphs.execute(aten._to_copy.default, (tensor,), kwargs)
    card = tensor.card if target is None and from_card else _card_of(target) if target is not None else None
    return CardTensor(out, card) if to_card else out


def _require_one_device(func, args, tensors):
    strangers = [x for x in tensors if not isinstance(x, CardTensor) and x.dim() > 0]
    if strangers and func in INDEXING and isinstance(args[0], CardTensor):
        indices = [x for x in args[1] if isinstance(x, th.Tensor)]  # CUDA takes them from the CPU, and copies them
        counts.note("index_by_cpu")
        strangers = [x for x in strangers if not any(x is index for index in indices)]
    here = sorted({x.card for x in tensors if isinstance(x, CardTensor) and x.card is not None})
    if strangers or len(here) > 1:
        found = [*(f"cuda:{card}" for card in here or [0]), *(["cpu"] if strangers else [])]
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{found[0]} and {found[1]}! (when checking the arguments of {func})"
        )


def _carried(func, args, kwargs):
    """The result of a call that moves, makes or indexes a tensor; None: it is none of these; NOTHING: it has none."""
    if func is th.Tensor.cuda:
        return args[0] if isinstance(args[0], CardTensor) and not args[0].card else _sent(args[0])
    if func is th.Tensor.pin_memory:
        return args[0]
    if func is th.Tensor.to:
        return _to(args[0], *args[1:], **kwargs)
    if func is th.Tensor.new_tensor and isinstance(args[0], CardTensor):
        counts.note("made_on_cpu")
        return CardTensor(th.tensor(*args[1:], dtype=kwargs.get("dtype") or args[0].dtype), args[0].card)
    if func in (th.tensor, th.as_tensor, th.asarray) and _is_card(kwargs.get("device")):
        rest = {key: value for key, value in kwargs.items() if key not in ("device", "requires_grad")}
        if isinstance(args[0], CardTensor):
            return _to(args[0], kwargs["device"], **rest)
        counts.note("made_on_cpu")
        return CardTensor(func(*args, **rest), _card_of(kwargs["device"])).requires_grad_(
            kwargs.get("requires_grad", False)
        )
    if func in (th.Tensor.__getitem__, th.Tensor.__setitem__) and isinstance(args[0], CardTensor):
        at = args[0].card
        index = tuple(_index(i, at) for i in args[1]) if isinstance(args[1], tuple) else _index(args[1], at)
        parts = index if isinstance(index, tuple) else (index,)
        counts.note("index_by_mask", any(isinstance(i, CardTensor) and i.dtype == th.bool for i in parts))
        if func is th.Tensor.__getitem__:
            return func(args[0], index)
        func(args[0], index, args[2])
        return NOTHING
    return None


def _to(tensor, *args, device=None, dtype=None, copy=False, other=None, non_blocking=False, **_):
    for given in (*args, *(() if other is None else (other,))):
        if isinstance(given, th.dtype):
            dtype = given
        elif isinstance(given, th.Tensor):
            device, dtype = given.device, given.dtype
        elif isinstance(given, str | th.device):
            device = given
    if not _is_card(device):
        return None
    card = _card_of(device)
    there = isinstance(tensor, CardTensor) and (card is None or tensor.card in (None, card))
    if there and not copy and dtype in (None, tensor.dtype):
        return tensor
    return _sent(tensor, dtype, card or 0, non_blocking)


def _sent(tensor, dtype=None, card=0, non_blocking=False):
    kwargs = {"dtype": dtype} if dtype else {}
    return aten._to_copy.default(tensor, device=th.device("cuda", card), non_blocking=non_blocking, **kwargs)


def _index(index, card):
    if not isinstance(index, list | np.ndarray):
        return index
    counts.note("index_by_list")
    return CardTensor(th.as_tensor(index), card)


def _is_card(device) -> bool:
    return device is not None and th.device(device).type in ("cuda", "card")


def _card_of(device):
    """The number of the card; None: torch's own code asks for the device that it knows."""
    device = th.device(device)
    return (device.index or 0) if device.type == "cuda" else None


def _gru_cell(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    """torch's cell on a GPU, which has other operations than the CPU's: the new memory, and what `backward` needs."""
    i, h, x = input_gates, hidden_gates, hx
    if input_bias is not None:
        i, h = i + input_bias, h + hidden_bias
    (ir, iz, i_n), (hr, hz, hn) = i.chunk(3, 1), h.chunk(3, 1)
    r, z = th.sigmoid(ir + hr), th.sigmoid(iz + hz)
    n = th.tanh(i_n + r * hn)
    return n + z * (x - n), th.cat([r, z, n, x, hn], 1)


def _gru_cell_backward(grad, workspace, has_bias):
    g = grad
    r, z, n, x, hn = workspace.chunk(5, 1)
    gz, gn = g * (x - n) * (1 - z) * z, g * (1 - z) * (1 - n * n)
    gr = gn * hn * (1 - r) * r
    gi, gh = th.cat([gr, gz, gn], 1), th.cat([gr, gz, gn * r], 1)
    return gi, gh, g * z, *((gi.sum(0), gh.sum(0)) if has_bias else (None, None))


_library = th.library.Library("aten", "IMPL")
_library.impl(
    "empty_strided",
    lambda size, stride, *, dtype=None, **_: CardTensor(
        aten.empty_strided.default(size, stride, dtype=dtype, device="cpu"), None
    ),
    "PrivateUse1",
)
_library.impl(
    "empty.memory_format",
    lambda size, *, dtype=None, **_: CardTensor(aten.empty.memory_format(size, dtype=dtype, device="cpu"), None),
    "PrivateUse1",
)
