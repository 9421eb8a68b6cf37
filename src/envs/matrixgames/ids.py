"""The package's ids in gymma's keys."""

from typing import Any

from envs.matrixgames.environment import MatrixGame as One
from envs.matrixgames.environment import MatrixGameBatch as Batch
from envs.matrixgames.payoffs import payoffs_of

__all__ = ["Batch", "One", "arguments"]


def arguments(key: str, **words: Any) -> dict[str, Any] | None:
    """The arguments of `Batch` and `One` for gymma's `key` and further words of `gymnasium.make`.

    Returns:
        None: one of the words is not among ours.

    Raises:
        ConfigError: the package has no such id.
    """
    if not {*words} <= {"ep_length"}:
        return None
    name = key.removeprefix("matrixgames:")
    payoffs_of(name)
    return {"key": name, **words}
