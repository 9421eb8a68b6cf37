"""entity-gym's form of arrays, ragged buffers and objects in MessagePack; of objects, those of a list of classes."""

from typing import Any

import numpy as np

from envs.entities import actions, observation
from envs.entities.entity_gym import vec_env
from utils.files.message_pack import number_type, packed, unpacked
from utils.plain_values import quoted
from utils.ragged.buffer import RaggedBuffer

CLASSES = {
    cls.__name__: cls
    for cls in (
        observation.ObsSpace,
        observation.Entity,
        observation.EpisodeStats,
        vec_env.VecObs,
        vec_env.VecCategoricalActionMask,
        vec_env.VecSelectEntityActionMask,
        vec_env.Metric,
        actions.SelectEntityAction,
        actions.CategoricalAction,
        actions.GlobalCategoricalAction,
        actions.SelectEntityActionSpace,
        actions.CategoricalActionSpace,
        actions.GlobalCategoricalActionSpace,
    )
}
# what entity-gym does not have is written only where it is used, so that it reads the rest
OURS = {"VecObs": "end_of_episode_info", "VecSelectEntityActionMask": "mask"}


def dumps(value: Any) -> bytes:
    """Values, arrays, ragged buffers and objects of `CLASSES` as bytes. Raises TypeError: another object."""
    return packed(value, ragged_buffer_encode)


def loads(data: bytes) -> Any:
    """What `dumps` wrote; nothing but values of these kinds is made. Raises ValueError: it is damaged, or has
    others."""
    try:
        return unpacked(data, ragged_buffer_decode)
    except (TypeError, LookupError) as error:
        raise ValueError(f"it has values that do not fit: {error}") from None


def ragged_buffer_encode(obj: Any) -> Any:
    """One step from an object to plain values."""
    if isinstance(obj, RaggedBuffer):
        return {"__flattened__": obj.as_array(), "__lengths__": obj.size1()}
    if isinstance(obj, np.ndarray):
        _check_dtype(obj.dtype)
        return {b"nd": True, b"type": obj.dtype.str, b"kind": b"", b"shape": obj.shape, b"data": obj.tobytes()}
    if isinstance(obj, np.generic):
        _check_dtype(obj.dtype)
        return {b"nd": False, b"type": obj.dtype.str, b"data": obj.tobytes()}
    name = type(obj).__name__
    if CLASSES.get(name) is not type(obj):
        raise TypeError(f"{quoted(obj)} cannot be recorded: it is no array, and no object of entity-gym's.")
    data = {key: value for key, value in vars(obj).items() if key != OURS.get(name) or value}
    return {"__classname__": name, "data": data}


def ragged_buffer_decode(obj: Any) -> Any:
    """A dict of plain values as what it stands for. Raises ValueError: it is none of these kinds."""
    if b"nd" in obj:
        dtype = number_type(obj[b"type"])
        values = np.frombuffer(obj[b"data"], dtype)
        return values.reshape(obj[b"shape"]).copy() if obj[b"nd"] else values[0]
    if "__flattened__" in obj:
        return RaggedBuffer.from_flattened(obj["__flattened__"], obj["__lengths__"])
    if "__classname__" in obj:
        if obj["__classname__"] not in CLASSES:
            raise ValueError(f"it has an object of {quoted(obj['__classname__'])}, which is no class of entity-gym's")
        return CLASSES[obj["__classname__"]](**obj["data"])
    return obj


def _check_dtype(dtype: np.dtype) -> None:
    if dtype.kind not in "biuf":
        raise ValueError(f"it has an array of {dtype}, not of numbers")
