"""The arguments of the environment trackmania."""

from collections.abc import Mapping
from dataclasses import dataclass

from envs.contract.arguments import require_numbers
from envs.contract.reaches import OF_ALL, nowhere, numbers_of
from envs.racing import rules
from envs.racing.map_cycle import played
from envs.racing.options import FRAMES
from envs.racing.rules import Rules
from envs.trackmania.launching import PORT
from envs.trackmania.maps import TrackMap, maps_of
from utils.config.reach import ADDRESS, FILES, PROGRAM, Reach
from utils.errors import ConfigError
from utils.plain_values import quoted

FIRST_PORT, LAST_PORT = 8478, 65_535
# the least and the most of each number
BOUNDS: dict[str, tuple[float, float]] = {
    "port": (1024, LAST_PORT),
    "launch_timeout": (0.1, 86_400.0),
    "game_timeout": (0.1, 86_400.0),
    "turn_timeout": (1.0, 600_000.0),
    "max_restarts": (0, 10**6),
    "speed": (0.1, 1000.0),
    "countdown_speed": (1.0, 1000.0),
    **FRAMES,
}
WHOLE = ("port", "max_restarts", "frame_width", "frame_height")
TEXTS = ("launch", "user", "documents")


@dataclass
class Options(Rules):
    """Constructor arguments; `about` has their meaning. Nothing here is random."""

    port: int = FIRST_PORT
    launch: str = ""
    launch_timeout: float = 300.0
    game_timeout: float = 60.0
    turn_timeout: float = 600.0
    max_restarts: int = 5
    user: str = ""
    documents: str = ""
    speed: float = 80.0
    countdown_speed: float = 80.0
    frame_width: int = 160
    frame_height: int = 120

    def __post_init__(self):
        require_numbers(self, BOUNDS, WHOLE)
        self.require_rules()
        if self.own_port > LAST_PORT:
            raise ConfigError(f"env_args.port is {self.port}; the last game's would be {self.own_port}.")
        for key in TEXTS:
            value = getattr(self, key)
            if not isinstance(value, str) or not (value.isprintable() or not value):
                raise ConfigError(f"env_args.{key} is {quoted(value)}; it must be a text of one line.")
        if not self.user.replace("_", "").replace(".", "").replace("-", "").isalnum() and self.user:
            raise ConfigError(f"env_args.user is {quoted(self.user)}; it must be the name of an account.")
        if self.launch and PORT not in self.launch:
            raise ConfigError(f"env_args.launch: the command must have {PORT} in it, which each game has its own of.")

    def maps(self) -> list[TrackMap]:
        training = maps_of("map_cycle", self.map_cycle)
        if not training:
            raise ConfigError(
                "env_args.map_cycle has no map. Give it one: [{'map': 'A01.Challenge.Gbx', 'line': 'a01.npy'}] "
                "(docs/trackmania_game.md)."
            )
        tests = maps_of("test_map_cycle", self.test_map_cycle)
        return played(training, tests, "map", self.test_mode)

    @property
    def own_port(self) -> int:
        """The port of this copy's game; those of tests follow those of training."""
        return self.port + self.place[2]

    @property
    def turn_ms(self) -> int:
        return round(1000 * self.turn_timeout)


REACHES: Mapping[str, Reach] = {
    **OF_ALL,
    **rules.REACHES,
    **numbers_of(Options),
    "launch": PROGRAM,
    "documents": FILES,
    "port": Reach(ADDRESS.what, lambda port, beside: port == FIRST_PORT),
    **nowhere("user"),
}
