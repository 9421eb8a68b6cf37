"""The value of an environment's `step`, in either of its two forms."""

from typing import Any, NamedTuple

from envs.validation import InvalidEnvironmentError, info_of, is_end, team_reward


class Outcome(NamedTuple):
    """How a step went: `ended` for whatever reason, `truncated` because it was cut off, so that learners bootstrap."""

    reward: float
    ended: bool
    truncated: bool
    info: dict[str, Any]


def outcome_of(returned: Any) -> Outcome:
    """From PyMARL's `(reward, terminated, info)` or Gymnasium's and EPyMARL's five values.

    The five are `(obs, reward, terminated, truncated, info)`; observations are asked for, so that the first is not
    used. An end is a cut if `info["episode_limit"]` says so, or if only the fourth of the five values does.

    Raises:
        InvalidEnvironmentError: neither of the two, or one of its values is invalid.
    """
    count = len(returned) if isinstance(returned, tuple | list) else None
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
    return Outcome(team_reward(reward), ended, ended and (cut or bool(info.get("episode_limit", False))), info)
