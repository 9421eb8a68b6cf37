"""The arguments: an id of the package, and what is to differ from it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from envs.compiled.team_game import TeamOptions
from envs.contract.arguments import LARGEST, require_choice, require_numbers
from envs.contract.reaches import OF_ALL, nowhere
from envs.rware.layout import Layout, of_shelves, of_text
from utils.config.reach import Reach
from utils.errors import ConfigError
from utils.nearest import did_you_mean
from utils.plain_values import quoted

SIZES = {"tiny": (1, 3), "small": (2, 3), "medium": (2, 5), "large": (3, 5)}  # rows and columns of shelves
REQUESTS_PER_AGENT = {"-easy": 2.0, "": 1.0, "-hard": 0.5}
ROWS = ("shelf_rows", "shelf_columns", "column_height")
REWARD_TYPES = ("individual", "global", "two_stage")
MOST_AGENTS, MOST_HEIGHT, MOST_REQUESTS = 19, 15, 19  # of the ids
HEIGHT = 8  # of columns, where an id does not say it
MOST_BITS = 8
MOST_SIGHT = 50
# less those with as many requests as shelves, or more
IDS = tuple(
    f"rware-{size}-{agents}ag{difficulty}-v2"
    for size, rows_and_columns in SIZES.items()
    for shelves in [of_shelves(*rows_and_columns, HEIGHT).n_shelves]
    for difficulty, per_agent in REQUESTS_PER_AGENT.items()
    for agents in range(1, MOST_AGENTS + 1)
    if int(agents * per_agent) < shelves
)
_COMMON = r"^rware(?:-(?P<sight>[2-5])s)?-"
_OF_SIZES = re.compile(
    _COMMON
    + r"(?P<size>tiny|small|medium|large)-(?:(?P<height>\d+)h-)?(?P<agents>\d+)ag(?P<difficulty>-easy|-hard|)-v2$"
)
_OF_ROWS = re.compile(
    _COMMON + r"(?P<rows>[1-4])x(?P<columns>[3579])-(?P<height>\d+)h-(?P<agents>\d+)ag-(?P<requests>\d+)req-"
    r"(?P<reward>indiv|global|twostage)-v2$"
)
_REWARDS = {"indiv": "individual", "global": "global", "twostage": "two_stage"}
FORMS = (
    "rware[-2s to -5s]-<tiny, small, medium, large>[-1h to -15h]-<1 to 19>ag[-easy, -hard]-v2, and "
    "rware[-2s to -5s]-<1 to 4>x<3, 5, 7, 9>-<1 to 15>h-<1 to 19>ag-<1 to 19>req-<indiv, global, twostage>-v2"
)


@dataclass
class Options(TeamOptions):
    """Where a default is None, the key says it; `about` has the meaning of all."""

    time_limit: int = 500
    key: str = "rware-tiny-2ag-v2"
    n_agents: int | None = None
    shelf_rows: int | None = None
    shelf_columns: int | None = None
    column_height: int | None = None
    layout: str | list[str] | None = None
    request_queue_size: int | None = None
    sensor_range: int | None = None
    reward_type: str | None = None
    msg_bits: int = 0
    normalised_coordinates: bool = False
    max_inactivity_steps: int | None = None
    max_steps: int | None = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in settings_of(self.key).items():
            if getattr(self, name) is None:
                setattr(self, name, value)
            elif self.layout is not None and name in ROWS:
                raise ConfigError(f"env_args.{name} and env_args.layout exclude each other.")
        self._check()
        self.time_limit = min(self.time_limit, self.max_steps or LARGEST)

    def _check(self) -> None:
        require_choice("env_args.reward_type", self.reward_type, REWARD_TYPES)
        require_choice("env_args.normalised_coordinates", self.normalised_coordinates, (True, False))
        limits = [name for name in ("max_inactivity_steps", "max_steps") if getattr(self, name) is not None]
        bounds: dict[str, tuple[float, float]] = dict.fromkeys((*ROWS, *limits), (1, LARGEST))
        bounds |= {"sensor_range": (0, MOST_SIGHT), "msg_bits": (0, MOST_BITS), "request_queue_size": (0, LARGEST)}
        require_numbers(self, bounds, bounds)
        layout = self.warehouse()
        require_numbers(self, {"n_agents": (1, layout.ways.size)}, ("n_agents",))
        if not layout.n_shelves:
            raise ConfigError("env_args.layout has no shelf (x).")
        if self.request_queue_size >= layout.n_shelves:  # type: ignore[operator]  # it has been filled in
            raise ConfigError(
                f"env_args.request_queue_size is {self.request_queue_size}; the warehouse has {layout.n_shelves} "
                f"shelves, of which 0 to {layout.n_shelves - 1} can be requested at once."
            )

    def warehouse(self) -> Layout:
        """The drawing, or that of rows and columns."""
        return of_shelves(*(getattr(self, name) for name in ROWS)) if self.layout is None else of_text(self.layout)


def is_picture(key: str) -> bool:
    """Whether this is an id with pictures for observations."""
    return key.startswith("rware-img")


def settings_of(key: Any) -> dict[str, Any]:
    """What an id says.

    Raises:
        ConfigError: the package has no such id, or its observations are pictures.
    """
    if is_picture(str(key)):
        raise ConfigError(
            f"env_args.key={key}: observations that are pictures have not been compiled; the package's own plays by "
            f"--env-config=gymma with env_args.key=rware:{key}."
        )
    found = _OF_SIZES.match(str(key)) or _OF_ROWS.match(str(key))
    if found is None or not _in_range(found.groupdict()):
        raise ConfigError(f"env_args.key: rware has no id '{quoted(key)}'.{did_you_mean(str(key), IDS)} Ids: {FORMS}.")
    said = found.groupdict()
    agents = int(said["agents"])
    if "size" in said:
        rows, columns = SIZES[said["size"]]
        requests, reward = int(agents * REQUESTS_PER_AGENT[said["difficulty"]]), "individual"
    else:
        rows, columns = int(said["rows"]), int(said["columns"])
        requests, reward = int(said["requests"]), _REWARDS[said["reward"]]
    return {
        "n_agents": agents,
        "shelf_rows": rows,
        "shelf_columns": columns,
        "column_height": int(said["height"] or HEIGHT),
        "request_queue_size": requests,
        "sensor_range": int(said["sight"] or 1),
        "reward_type": reward,
    }


def _in_range(said: Mapping[str, str | None]) -> bool:
    """Whether the numbers of an id are among those of the package."""
    for name, most in (("agents", MOST_AGENTS), ("height", MOST_HEIGHT), ("requests", MOST_REQUESTS)):
        number = said.get(name) or "1"
        if number.startswith("0") or int(number) > most:
            return False
    return True


REACHES: Mapping[str, Reach] = {
    **OF_ALL,
    **nowhere(
        "time_limit reward key n_agents shelf_rows shelf_columns column_height layout request_queue_size sensor_range "
        "reward_type msg_bits normalised_coordinates max_inactivity_steps max_steps"
    ),
}
