"""The fields of a race, and their values from what a step has left."""

import numpy as np

from envs.contract.fields import AGENTS, EXPLORES, FieldSpec
from envs.racing.options import Options
from envs.racing.state import GEAR_AND_WHEELS, INPUTS, Outputs, float_size

# what is kept of every step for people and transforms, by Linesight's names; networks do not see it
RECORDS = {
    "current_zone_idx": ("zone", FieldSpec("record", (), "int64")),
    "furthest_zone_idx": ("furthest", FieldSpec("record", (), "int64")),
    "meters_advanced_along_centerline": ("metres", FieldSpec("record")),
    "car_gear_and_wheels": ("wheels", FieldSpec("record", (GEAR_AND_WHEELS,))),
    "potential": ("potential", FieldSpec("record")),
}
FLOATS, FRAMES = "obs/state_float", "obs/frames"


def observations_of(options: Options) -> dict[str, str]:
    """The paths of observations, and the arrays of `Outputs` that they are: "obs" if there is only one."""
    if options.view == "both":
        return {FLOATS: "floats", FRAMES: "frames"}
    return {"obs": "floats" if options.view == "float" else "frames"}


def fields_of(options: Options) -> dict[str, FieldSpec]:
    floats, several = float_size(options.zones_ahead, options.seen_cars), options.n_cars > 1
    kinds = {
        "floats": FieldSpec("observation", (floats,)),
        "frames": FieldSpec("observation", options.picture_shape, "uint8", low=0, high=255),
    }
    fields = {path: kinds[array] for path, array in observations_of(options).items()}
    if options.state:
        fields["state"] = FieldSpec("observation", (options.n_cars * floats,), group=None)
    if several:
        fields["present"] = FieldSpec("mask", (), "bool")
    fields["avail_actions"] = FieldSpec("mask", (len(INPUTS),), "uint8", of="actions")
    fields |= {path: field for path, (_, field) in RECORDS.items()}
    if options.greedy_every:
        fields[EXPLORES] = FieldSpec("record", (), "bool")
    fields["actions"] = FieldSpec("action", (), "int64", n=len(INPUTS))
    fields["input_w"] = FieldSpec("outcome", (), "bool")
    fields["reward"] = FieldSpec("outcome", (), "float64", AGENTS if options.reward == "each" else None)
    if several:
        fields |= {f"{AGENTS}/{end}": FieldSpec("outcome", (), "bool") for end in ("terminated", "truncated")}
    return fields


def observed(options: Options, outputs: Outputs, races: np.ndarray) -> dict[str, np.ndarray]:
    """Observations, masks and records by path, `[B, ...]`.

    Args:
        races: the numbers of the races in the cycle, `[B]`.
    """
    values = {path: getattr(outputs, array) for path, array in observations_of(options).items()}
    values |= {path: getattr(outputs, array) for path, (array, _) in RECORDS.items()}
    values["avail_actions"] = outputs.legal
    if options.greedy_every:
        values[EXPLORES] = np.repeat(options.explores(races)[:, None], options.n_cars, axis=1)
    if options.state:
        values["state"] = outputs.floats.reshape(len(outputs.floats), -1)
    if options.n_cars > 1:
        values["present"] = outputs.present
    return values


def outcomes(options: Options, outputs: Outputs) -> dict[str, np.ndarray]:
    """The outcomes of a step by path, `[B, ...]`."""
    rewards = outputs.reward
    if options.reward != "each":
        rewards = rewards.sum(axis=1) if options.reward == "sum" else rewards.mean(axis=1)
    values = {"input_w": outputs.pressed, "reward": rewards}
    if options.n_cars > 1:
        values |= {f"{AGENTS}/terminated": outputs.car_terminated, f"{AGENTS}/truncated": outputs.car_truncated}
    return values
