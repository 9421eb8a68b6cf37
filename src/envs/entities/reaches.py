"""What the arguments of `env=entities` may do beyond the results of a run."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from envs.contract.reaches import OF_ALL, before_colon, importing, nowhere
from envs.entities.games import GAMES
from utils.config.reach import MODULE, Reach, whole_path
from utils.config.user_code import is_path

_OTHERS = importing("environment", before_colon)


def _whole_name(environment: Any) -> Any:
    """path/to/file.py:ClassName with the whole path; other names as they are."""
    file, colon, name = str(environment).rpartition(":")
    return f"{whole_path(file)}{colon}{name}" if is_path(file) else environment


def _is_game(kwargs: Any, beside: Mapping[str, Any]) -> bool:
    return beside.get("environment") in GAMES or not _OTHERS["kwargs"].of(kwargs, beside)


REACHES = {
    **OF_ALL,
    "environment": replace(_OTHERS["environment"], lasting=_whole_name),
    "kwargs": Reach(MODULE.what, _is_game),
    **nowhere("episode_limit max_entities max_actors"),
}
