"""An environment that nobody can play: it has the fields of a data set, to learn from without the one it came from."""

from typing import Any, NoReturn

import numpy as np

from envs.contract.about import SEED, About
from envs.contract.fields import FieldSpec
from envs.contract.reaches import OF_ALL
from envs.recorded.formats import open_data
from utils.config.reach import READ_ONLY
from utils.errors import MusterError

REACHES = {**OF_ALL, "path": READ_ONLY}
ABOUT = About({"path": "of the data; dataset of the run says it", **SEED}, saved="yes", drawn="no")


class Recorded:
    """The fields of a data set.

    Args:
        path: of it; the run's `dataset`.

    Raises:
        ConfigError: there is none.
    """

    def __init__(self, path: str = "", seed: int | None = None):
        spec = open_data(path).description.spec
        self._fields = {path: one for path, one in spec.fields.items() if not _is_count(path, spec.fields)}
        self.groups, self.episode_limit = dict(spec.groups), spec.episode_limit

    def fields(self) -> dict[str, FieldSpec]:
        return self._fields

    def reset(self) -> NoReturn:
        raise MusterError("env=recorded has data and nothing to play: use test_nepisode=0, or the environment itself.")

    def observe(self) -> NoReturn:
        self.reset()

    def step(self, actions: Any) -> NoReturn:
        self.reset()

    def state_dict(self) -> dict[str, np.ndarray]:
        return {}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """There is no state."""

    def close(self) -> None:
        """Nothing is open."""


def _is_count(path: str, fields: Any) -> bool:
    owner = path.removesuffix("/count")
    return owner != path and owner in fields and fields[owner].capacity is not None
