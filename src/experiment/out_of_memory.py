"""What a person reads when a device has no memory left: sizes, and the keys that make them smaller."""

import re
import traceback
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch as th

from checks.options import layer_widths
from checks.parts import ChosenParts
from experiment.contracts import PlainBuffer, PlainLearner
from utils.errors import MusterError
from utils.plain_values import quoted
from utils.processes.available_memory import memory_reason
from utils.sizes import readable_size
from utils.tensors.devices import (
    CPU,
    CUDA,
    MPS,
    acting_device,
    device_memory,
    kind_of,
    named,
    release_memory,
    same_device,
)

# in torch's messages
ASKED = re.compile(r"tried to allocate (\d+ bytes|[\d.]+ ?[KMGT]?i?B)", re.IGNORECASE)
TOTAL = re.compile(r"total capacity of ([\d.]+ ?[KMGT]?i?B)", re.IGNORECASE)
CARD = re.compile(r"\bGPU (\d+)")
# keys by which a part takes less, and how
OF_LEARNING = {"batch_size": "smaller", "chunk_length": "smaller", "minibatches": "larger"}
OF_PLAY = {"batch_size_run": "smaller", "rollout_steps": "smaller"}


def out_of_memory(error: Exception, args: SimpleNamespace, parts: Any) -> MusterError | None:
    """The fault to raise in place of an error of this kind; None of others. What the failed step had taken is freed."""
    if not (reason := memory_reason(error)):
        return None
    fault = MusterError(explanation(args, reason, parts))
    traceback.clear_frames(error.__traceback__)
    release_memory()
    return fault


def explanation(args: SimpleNamespace, reason: str, parts: Any = None) -> str:
    """The message, in which the first line of torch's own is the last sentence.

    Args:
        reason: this line (`utils.processes.available_memory.memory_reason`).
        parts: of the run (`experiment.assembly.Parts`), if they have been made.
    """
    device = _device_of(reason, args)
    asked, total = ASKED.search(reason), TOTAL.search(reason)
    free = device_memory(device)
    figures = [f"{asked[1]} were asked for"] if asked else []
    if free is not None:
        figures.append(f"{readable_size(free)}{f' of {total[1]}' if total else ''} are free")
    taken = [f"{what} {readable_size(size)}" for what, size in _taken(device, parts) if size] if parts else []
    there = f" There, this run has {', '.join(taken)}." if taken else ""
    sizes = f" ({', '.join(figures)})" if figures else ""
    return (
        f"There is not enough memory on {device}{sizes}.{there} Choose {_remedies(device, args, parts)}. "
        f"The message was: {quoted(reason, 300)}"
    )


def _device_of(reason: str, args: SimpleNamespace) -> str:
    own = args.device, acting_device(args)
    if card := CARD.search(reason):
        return named(f"{CUDA}:{card[1]}")
    for kind in (MPS, CUDA):
        if kind in reason.lower() or (kind == CUDA and "_ALLOC_FAILED" in reason):
            return next((device for device in own if kind_of(device) == kind), kind)
    return CPU


def _taken(device: str, parts: Any) -> Iterator[tuple[str, int]]:
    """What the run's parts have on the device, with its bytes."""
    for team in parts.learning:
        for what, where, size in PlainBuffer.of(team.buffer).takes:
            if same_device(where, device):
                yield what, size
    weights = {id(x): x for team in parts.teams for x in _tensors(team)}.values()
    yield "networks and optimisers of", _bytes_on(device, weights)
    batch = parts.runner.batch
    if batch is not None:
        tensors = (*batch.data.transition_data.values(), *batch.data.episode_data.values())
        yield "a batch of play of", _bytes_on(device, tensors)


def _tensors(team: Any) -> Iterator[Any]:
    yield from team.mac.parameters()
    learner = PlainLearner.of(team.learner)
    if learner.target_mac is not None:
        yield from learner.target_mac.parameters()
    for network in (*learner.networks.values(), *learner.target_networks.values()):
        yield from network.parameters()
    for optimiser in learner.optimisers.values():
        for state in optimiser.state.values():
            yield from (x for x in state.values() if isinstance(x, th.Tensor))


def _bytes_on(device: str, tensors: Any) -> int:
    return sum(x.nbytes for x in tensors if same_device(x.device, device))


def _remedies(device: str, args: SimpleNamespace, parts: Any) -> str:
    """The keys that make smaller what the run has on the device, of those that its parts read."""
    found, learns = {}, device == args.device
    configs = [vars(team.args) for team in parts.learning] if parts is not None else [vars(args)]
    played = OF_PLAY if learns or device == acting_device(args) else {}
    for config in configs:
        chosen = ChosenParts(config)
        read = {"batch_size_run"}.union(*(chosen.reads(kind) or () for kind in ("learner", "buffer", "runner")))
        for key, how in {**(OF_LEARNING if learns else {}), **played}.items():
            if key in read and config.get(key):  # 0 is none, of chunk_length
                found[key] = f"a {how} {key} ({config[key]})"
        if "buffer_size" in read and _keeps(device, args, parts):
            found["buffer_size"] = f"a smaller buffer_size ({config['buffer_size']})"
            if device != CPU:
                found["buffer_cpu_only"] = "buffer_cpu_only=True"
    widths = {key: vars(args)[key] for key in layer_widths(vars(args)) if key in vars(args)}
    networks = f"smaller networks ({', '.join(f'{key}={width}' for key, width in widths.items())})"
    *others, last = [*found.values(), networks if widths else "smaller networks"]
    return f"{', '.join(others)} or {last}" if others else last


def _keeps(device: str, args: SimpleNamespace, parts: Any) -> bool:
    """Whether a buffer is there, or may be."""
    if parts is None:
        return device == CPU or (args.buffer_cpu_only is not True and device == args.device)
    return any(same_device(PlainBuffer.of(team.buffer).kept_on, device) for team in parts.learning)
