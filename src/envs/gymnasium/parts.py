"""What an observation of Gymnasium has: the part that the agent sees, and perhaps the mask of legal actions."""

from collections.abc import Callable, Mapping
from typing import Any

from envs.contract.legal_actions import MASK, without_mask
from envs.contract.mask_place import METHOD, MaskPlace
from envs.contract.optional import require
from envs.contract.texts import without_texts
from envs.contract.validation import InvalidEnvironmentError
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

KEY = "env_args.observation_key"
# Digideep's name of an observation without parts
WHOLE = "agent"


def part_of(space: Any, path: str | None) -> tuple[Any, Callable[[Any], Any]]:
    """The space of a part, and what takes the part out of an observation.

    Args:
        path: keys with slashes between; "/" is the whole. Of a part that has parts, all but texts are joined to one
            vector, as in `gymnasium.spaces.flatten`. None: the observation as it is.

    Raises:
        ConfigError: there is no such part.
    """
    if path is None:
        return space, lambda seen: seen
    spaces = require("gymnasium.spaces", "Gymnasium's spaces")
    keys = [key for key in path.split("/") if key]
    if keys == [WHOLE] and not (isinstance(space, spaces.Dict) and WHOLE in space.spaces):
        keys = []
    part = space
    for key in keys:
        if not isinstance(part, spaces.Dict) or key not in part.spaces:
            known = ["/", *_paths(spaces, space)]
            raise ConfigError(f"{KEY}={quoted(repr(path))}: the observation has no such part.{suggestion(path, known)}")
        part = part.spaces[key]
    if not isinstance(part, spaces.Dict | spaces.Tuple):
        return part, lambda seen: _within(seen, keys)
    part = without_texts(part)
    try:
        flat = spaces.flatten_space(part)
    except NotImplementedError:
        raise ConfigError(f"{KEY}={quoted(repr(path))}: {quoted(str(part), 200)} has no form as one vector.") from None
    return flat, lambda seen: _joined(spaces, part, _within(seen, keys))


def _paths(spaces: Any, space: Any) -> list[str]:
    if not isinstance(space, spaces.Dict):
        return []
    below = {key: _paths(spaces, inner) for key, inner in space.spaces.items()}
    return [path for key, inner in below.items() for path in (key, *(f"{key}/{name}" for name in inner))]


def _within(seen: Any, keys: list[str]) -> Any:
    for key in keys:
        if not isinstance(seen, Mapping) or key not in seen:
            raise InvalidEnvironmentError(f"the observation has no '{key}'")
        seen = seen[key]
    return seen


def _joined(spaces: Any, part: Any, seen: Any) -> Any:
    try:
        return spaces.flatten(part, seen)
    except Exception as error:
        raise InvalidEnvironmentError(
            f"the observation {quoted(seen)} does not fit {quoted(str(part), 200)}: {error}"
        ) from None


def mask_place(env: Any, key: str, choices: bool) -> MaskPlace:
    """Where an environment in its wrappers, any of which may have the method, offers masks.

    Raises:
        ConfigError: wrappers have made an observation with a mask into another one, in which it is not to be found.
    """
    method = (lambda: env.get_wrapper_attr(METHOD)()) if env.has_wrapper_attr(METHOD) else None
    place = MaskPlace(key, env.observation_space, choices, method)
    if choices and not place.known and without_mask(env.unwrapped.observation_space)[1]:
        raise ConfigError(
            f"env_args.wrappers: {type(env).__name__} hides the observation's '{MASK}', so illegal actions would "
            f"be chosen. Leave that part as it is, or offer it by a method {METHOD}()."
        )
    return place
