"""Frames of entities as the rectangles that `RogueNet` takes."""

import numpy as np
import torch as th


def padded(sequences, features=None, dtype=np.float32, fill=0):
    """Sequences of unequal length as one tensor `[R, longest, features]`, or `[R, longest]`."""
    longest = max((len(items) for items in sequences), default=0)
    shape = (len(sequences), longest) if features is None else (len(sequences), longest, features)
    result = np.full(shape, fill, dtype)
    for row, items in zip(result, sequences, strict=True):
        row[: len(items)] = items
    return th.as_tensor(result)


def net_inputs(case, frames):
    """Keyword arguments of `RogueNet.forward` for frames of `rogue_net_cases`."""
    of_type = {name: [frame["features"][name] for frame in frames] for name in case.space}
    actions = {name: [frame["actions"][name] for frame in frames] for name in case.actions}
    return {
        "values": {name: padded(items, len(case.space[name])) for name, items in of_type.items()},
        "counts": {name: th.tensor([len(x) for x in items]) for name, items in of_type.items()},
        "visible": {name: padded([frame["visible"][name] for frame in frames], dtype=bool) for name in case.space}
        if case.visible
        else None,
        "global_features": th.as_tensor(np.stack([frame["global"] for frame in frames]))
        if case.global_features
        else None,
        "actors": {
            name: padded([action["actors"] for action in of_frames], dtype=np.int64, fill=-1)
            for name, of_frames in actions.items()
        },
        "actees": {
            name: padded([action["actees"] for action in of_frames], dtype=np.int64, fill=-1)
            for name, of_frames in actions.items()
            if case.actions[name][0] == "select"
        },
    }


def allowed(case, frames, name, shape):
    """The choices of each actor slot of an action, bool `[R, S, choices]`; none where no actor is."""
    result = np.zeros(shape, bool)
    for row, frame in zip(result, frames, strict=True):
        action = frame["actions"][name]
        for slot in range(len(action["actors"])):
            if case.actions[name][0] == "select":
                row[slot, : len(action["actees"])] = True
            else:
                row[slot] = action["mask"][slot]
    return th.as_tensor(result)
