"""The replay buffer's episodes in files: each is written once, and belongs to every checkpoint that needs it."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch as th

from checkpoints.errors import CheckpointError
from utils.plain_values import shown
from utils.regular_files import open_regular

# how much is copied out of the buffer, or read, at a time
BLOCK_BYTES = 8 * 2**20
LARGEST_HEADER = 64 * 2**20


def segment_name(first: int, stop: int) -> str:
    """The file of the episodes `first` to `stop` - 1, counted from the first that the buffer ever took."""
    return f"buffer-{first}-{stop}.bin"


def write_segment(file: Any, buffer: Any, first: int, stop: int, done: Callable[[int], None] = lambda _: None) -> None:
    """Write the episodes `first` to `stop` - 1; a line of JSON says how they lie in what follows it.

    Blocks of episodes follow; in each, one field after another, `[episodes, steps, ...]`, cut after the longest.

    Args:
        file: has `write`.
        buffer: a ReplayBuffer which holds them.
        done: told, now and then, up to which episode everything is written.
    """
    steps = buffer.written_steps(first, stop)
    fields = _fields(buffer)
    blocks = _blocks(buffer, steps, first)
    header = {
        "first": first,
        "stop": stop,
        "fields": [[key, str(tensor.dtype), _step_shape(buffer, key, tensor)] for key, tensor in fields.items()],
        "steps": steps.tolist(),
        "blocks": [stop_of - first_of for first_of, stop_of in blocks],
    }
    file.write(json.dumps(header).encode() + b"\n")
    for first_of, stop_of in blocks:
        longest = int(steps[first_of - first : stop_of - first].max())
        row = first_of % buffer.buffer_size
        rows = slice(row, row + stop_of - first_of)
        for key, tensor in fields.items():
            part = tensor[rows, :longest] if key in buffer.data.transition_data else tensor[rows]
            file.write(np.ascontiguousarray(part.cpu().numpy()).reshape(-1).view(np.uint8).data)
        done(stop_of)


def _fields(buffer: Any) -> dict[str, th.Tensor]:
    return {**buffer.data.transition_data, **buffer.data.episode_data}


def _step_shape(buffer: Any, key: str, tensor: th.Tensor) -> list[int]:
    """Shape of what the field holds for a step, or for an episode."""
    return list(tensor.shape[2 if key in buffer.data.transition_data else 1 :])


def _blocks(buffer: Any, steps: np.ndarray, first: int) -> list[tuple[int, int]]:
    """Runs of episodes that lie beside each other and are not too large together."""
    episode = max(1, buffer.nbytes // buffer.buffer_size)
    at_once = max(1, BLOCK_BYTES // episode)
    blocks, start, stop = [], first, first + len(steps)
    while start < stop:
        until_the_end = buffer.buffer_size - start % buffer.buffer_size
        end = min(stop, start + min(at_once, until_the_end))
        blocks.append((start, end))
        start = end
    return blocks


def read_segment(path: Path, buffer: Any, oldest: int) -> None:
    """Put the episodes of a file into `buffer`, from the episode `oldest` on. Places in it that were never written.

    Raises:
        CheckpointError: the file is damaged, or is of a buffer with other fields or sizes.
    """
    try:
        with open_regular(path) as file:
            header = _header(path, file, buffer)
            first, steps = header["first"], np.array(header["steps"], dtype=np.int64)
            for first_of, stop_of in _blocks_of(header):
                longest = int(steps[first_of - first : stop_of - first].max())
                _read_block(file, buffer, first_of, stop_of, longest, oldest)
            for episode in range(max(first, oldest), header["stop"]):
                buffer.note_written(episode, int(steps[episode - first]))
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}).") from None


def _header(path: Path, file: Any, buffer: Any) -> dict:
    line = file.readline(LARGEST_HEADER)
    try:
        header = json.loads(line)
        first, stop, steps, blocks = header["first"], header["stop"], header["steps"], header["blocks"]
        whole = [first, stop, *steps, *blocks]
        sound = all(type(x) is int and x >= 0 for x in whole) and all(blocks) and len(steps) == stop - first
        sound = sound and sum(blocks) == len(steps) <= buffer.buffer_size and _blocks_lie_whole(header, buffer)
        fields = [(key, dtype, shape) for key, dtype, shape in header["fields"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CheckpointError(f"{path} is damaged: it does not say what is in it.") from None
    ours = [(key, str(tensor.dtype), _step_shape(buffer, key, tensor)) for key, tensor in _fields(buffer).items()]
    if fields != ours:
        raise CheckpointError(
            f"{path} is of a replay buffer with other fields: {shown(fields, 300)} instead of {ours}."
        )
    if not sound or max(steps, default=0) > buffer.max_seq_length:
        raise CheckpointError(f"{path} is damaged: its figures contradict each other.")
    expected = sum(_block_bytes(buffer, header, *block) for block in _blocks_of(header))
    if path.stat().st_size - len(line) != expected:
        raise CheckpointError(f"{path} is damaged: {expected} bytes should follow its first line.")
    return header


def _blocks_lie_whole(header: dict, buffer: Any) -> bool:
    """Whether no block goes over the end of the buffer."""
    size = buffer.buffer_size
    return all(first_of % size + stop_of - first_of <= size for first_of, stop_of in _blocks_of(header))


def _blocks_of(header: dict) -> Iterator[tuple[int, int]]:
    start = header["first"]
    for count in header["blocks"]:
        yield start, start + count
        start += count


def _block_bytes(buffer: Any, header: dict, first_of: int, stop_of: int) -> int:
    longest = max(header["steps"][first_of - header["first"] : stop_of - header["first"]])
    shapes = _shapes(buffer, stop_of - first_of, longest)
    return sum(math.prod(shape) * tensor.element_size() for tensor, shape in shapes.values())


def _shapes(buffer: Any, count: int, longest: int) -> dict[str, tuple[th.Tensor, tuple[int, ...]]]:
    transitions = buffer.data.transition_data
    return {
        key: (tensor, (count, *((longest,) if key in transitions else ()), *_step_shape(buffer, key, tensor)))
        for key, tensor in _fields(buffer).items()
    }


def _read_block(file: Any, buffer: Any, first_of: int, stop_of: int, longest: int, oldest: int) -> None:
    skipped = min(max(0, oldest - first_of), stop_of - first_of)
    row = (first_of + skipped) % buffer.buffer_size
    rows = slice(row, row + stop_of - first_of - skipped)
    for key, (tensor, shape) in _shapes(buffer, stop_of - first_of, longest).items():
        data = file.read(math.prod(shape) * tensor.element_size())
        values = th.frombuffer(bytearray(data), dtype=tensor.dtype).view(shape) if data else th.zeros(shape)
        target = tensor[rows, :longest] if key in buffer.data.transition_data else tensor[rows]
        target.copy_(values[skipped:])
