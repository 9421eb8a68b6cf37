"""Checks of what an environment returns from its steps, before anything is learned from it."""

from typing import Any, NamedTuple

import numpy as np

from envs.contract.infos import is_true
from utils.errors import MusterError
from utils.plain_values import quoted

# steps of each environment, from its first reset, with thorough checks
FIRST_MOMENTS = 100
# kinds of NumPy's dtypes that are plain numbers: bool, signed, unsigned, float; not complex, text or objects
NUMBERS = "biuf"


class InvalidEnvironmentError(MusterError):
    """An environment breaks its contract. It would do so again, so restarting it does not help."""

    incurable = True


def as_numbers(name: str, value: Any) -> np.ndarray:
    """The value of `name`, such as "get_obs()", as an array of plain numbers. Raises InvalidEnvironmentError: its parts
    differ in length, or are complex, text or objects."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InvalidEnvironmentError(f"{name} makes no array: {error}") from None
    if array.dtype.kind not in NUMBERS:
        raise InvalidEnvironmentError(f"{name} has the dtype {array.dtype}, which is not that of plain numbers")
    return array


def shaped(name: str, shape: tuple[int, ...], value: Any) -> np.ndarray:
    """The value of `name`, as an array of this shape. Raises InvalidEnvironmentError: it has another one, or is not
    made of plain numbers."""
    if type(value) is not np.ndarray or value.dtype.kind not in NUMBERS:
        value = as_numbers(name, value)
    if value.shape == shape:
        return value
    # axes of size 1 may come and go, as in EpisodeBatch.update
    if [size for size in value.shape if size != 1] != [size for size in shape if size != 1]:
        raise InvalidEnvironmentError(f"{name} has the shape {value.shape}; it was announced as {shape}")
    return value.reshape(shape)


def problem_of_mask(mask: np.ndarray, name: str = "get_avail_actions()", choices: bool = True) -> str | None:
    """The problem of a mask `[n, ...]` of one environment, in words, or None.

    `choices`: it has the legal actions `[n, A]`, of which every agent needs one.
    """
    wrong = np.argwhere((mask != 0) & (mask != 1))
    if len(wrong):
        place = "".join(f"[{index}]" for index in wrong[0].tolist())
        return f"{name}{place} is {mask[tuple(wrong[0])]}; each entry must be 0 or 1"
    idle = np.flatnonzero(~(mask != 0).any(axis=-1))
    if choices and len(idle):
        return f"agent {idle[0]} has no legal action in {name}; a dead agent's is to do nothing"
    return None


def is_end(value: Any) -> bool:
    """Whether an episode has ended, as `step` returned it. Raises InvalidEnvironmentError: it is not one True or
    False."""
    if type(value) is bool:
        return value
    number = _number(value)
    if number not in (0, 1):
        raise InvalidEnvironmentError(f"step() returned {quoted(repr(value))} as terminated; it must be True or False")
    return bool(number)


def team_reward(value: Any) -> float:
    """The reward that `step` returned. Raises InvalidEnvironmentError: it is not one number."""
    if type(value) is float:
        return value
    number = _number(value)
    if number is None:
        raise InvalidEnvironmentError(
            f"step() returned {quoted(repr(value))} as the reward; it must be one number, the team's"
        )
    return float(number)


def info_of(value: Any) -> dict[str, Any]:
    """The info that `step` returned. Raises InvalidEnvironmentError: it is not a dictionary."""
    if not isinstance(value, dict):
        raise InvalidEnvironmentError(f"step() returned {quoted(repr(value))} as info; it must be a dictionary")
    return value


def _number(value: Any) -> float | None:
    """A number of any library, or the only entry of an array; None for anything else."""
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        return None
    return array.item() if array.size == 1 and array.dtype.kind in NUMBERS else None


def moment(steps: int) -> str:
    """When something was found, after so many steps of an episode; for messages."""
    return f"in step {steps}" if steps else "after reset()"


class Outcome(NamedTuple):
    """The outcome of a step: `ended` for any reason, `truncated` by a cut, in which case learners bootstrap."""

    reward: float
    ended: bool
    truncated: bool
    info: dict[str, Any]


def outcome_of(returned: Any) -> Outcome:
    """From PyMARL's `(reward, terminated, info)` or Gymnasium's and EPyMARL's five values.

    The five are `(obs, reward, terminated, truncated, info)`; the first is ignored, as runners
    call the methods for observations. An end is a cut if `info["episode_limit"]` is True, or the fourth value alone is.

    Raises:
        InvalidEnvironmentError: neither of the two, or one of its values is invalid.
    """
    count = len(returned) if isinstance(returned, (tuple, list)) else None
    if count == 3:
        reward, terminated, info = returned
        cut = False
    elif count == 5:
        _, reward, terminated, truncated, info = returned
        terminated, truncated = is_end(terminated), is_end(truncated)
        cut = truncated and not terminated
        terminated = terminated or truncated
    else:
        found = f"a {type(returned).__name__}" if count is None else f"{count} values"
        raise InvalidEnvironmentError(
            f"step() returned {found}; it must return (reward, terminated, info) or "
            "(obs, reward, terminated, truncated, info)"
        )
    ended, info = is_end(terminated), info_of(info)
    return Outcome(team_reward(reward), ended, ended and (cut or is_true(info, "episode_limit")), info)
