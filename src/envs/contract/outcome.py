"""The value of an environment's `step`, in either of its two forms."""

from typing import Any, NamedTuple

from envs.contract.infos import is_true
from envs.contract.validation import InvalidEnvironmentError, info_of, is_end, team_reward


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
