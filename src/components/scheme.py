"""The scheme of a run's batches, laid out from the environment's declaration."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch as th

from components.batch_items import MissingFieldError
from components.storage import smallest_integer
from components.transforms import OneHot
from envs.contract.fields import EnvSpec, FieldSpec
from utils.tensors.schemes import shape_of

# PyMARL's sizes of the fields that its environments have, which may be a number or a shape
PYMARL_SHAPES = {"obs": "obs_shape", "state": "state_shape"}


class KnownFields(dict):
    """A scheme that says which field is missing, where a dictionary would raise KeyError.

    Raises:
        MissingFieldError: on reading an entry that is not there.
    """

    def __missing__(self, key: str) -> Any:
        fields = ", ".join(path for path, entry in self.items() if entry.get("kind") == "observation")
        raise MissingFieldError(f"no field '{key}' among its observations, which are {fields or 'none'}")


def scheme_of(spec: EnvSpec, buffer_dtype: str = "float32") -> tuple[dict, dict, dict]:
    """Scheme, groups and preprocess of batches with the fields of an environment.

    "terminated" has PyMARL's meaning: the episode ended by itself. "truncated": it was cut off, and
    values continue after it. "storage" is the smaller type in which the buffer keeps a field, `buffer_dtype` that of
    observations. "kind" is the field's; "of" of a mask, "low" and "high" of a continuous action, and "about" are those
    of its `FieldSpec`. Of each categorical action, "<path>_onehot" is derived.
    """
    scheme = {path: _entry(path, field, spec, buffer_dtype) for path, field in spec.fields.items()}
    scheme |= {end: {"vshape": (1,), "dtype": th.uint8, "kind": "outcome"} for end in ("terminated", "truncated")}
    preprocess = {
        path: (f"{path}_onehot", [OneHot(out_dim=field.n)])
        for path, field in spec.of_kind("action").items()
        if field.n is not None
    }
    return scheme, dict(spec.groups), preprocess


def _entry(path: str, field: FieldSpec, spec: EnvSpec, buffer_dtype: str) -> dict:
    entry: dict = {"vshape": field.entry_shape or (1,), "kind": field.kind}
    if path in PYMARL_SHAPES and PYMARL_SHAPES[path] in spec.env_info:
        entry["vshape"] = spec.env_info[PYMARL_SHAPES[path]]
    if field.group is not None:
        entry["group"] = field.group
    dtype = np.dtype(field.dtype)
    if field.kind == "action" and field.n is not None:
        entry |= {"dtype": th.long, "storage": smallest_integer(field.n)}
    elif field.kind == "mask":
        entry |= {"dtype": th.int, "storage": th.uint8}
    elif dtype.kind == "f":
        if field.kind == "observation":
            entry["storage"] = getattr(th, buffer_dtype)
    elif dtype.kind == "b" or dtype == np.uint8:
        entry["dtype"] = th.uint8
    else:
        entry["dtype"] = th.long
    if field.of:
        entry["of"] = field.of
    if field.kind == "action" and not field.categorical:
        entry |= {"low": field.low, "high": field.high}
    if field.about:
        entry["about"] = dict(field.about)
    if field.storage:
        entry["storage"] = getattr(th, field.storage)
    return entry


def shape_at_a_step(info: Mapping[str, Any], groups: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of a field at one step, of all agents if it belongs to a group."""
    shape = shape_of(info)
    return (groups[info["group"]], *shape) if info.get("group") else shape
