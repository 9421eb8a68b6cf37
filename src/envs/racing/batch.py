"""Many races at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from envs.compiled.simulator import Simulator
from envs.racing.kernel import KERNEL
from envs.racing.kernel.entry import begin, step_all
from envs.racing.kernel.floats import scaling_of
from envs.racing.kernel.zones import REACH
from envs.racing.options import Options
from envs.racing.state import (
    INPUTS,
    SPACING,
    TICK_MS,
    WORLD,
    Outputs,
    Races,
    Views,
    allocate_outputs,
    allocate_races,
    float_size,
    grid_metres,
)
from envs.racing.tracks import ground_of, tracks_of
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

MARGIN = 40  # zones before the finish in which no race begins
GRIP = 14.0  # m/s2 that tyres hold with grip 1
TOP_SPEED, SPREAD = 58.0, 0.85  # m/s of the highest gear; gear k of G reaches (k / G) ** SPREAD of it


class BatchedRaces(Simulator):
    """B races of n cars that one call steps; see `Simulator`.

    Args:
        batch_size: B.
        seed: see `Simulator`.
        place: for each race its number among those of the run, and how many these are; on it and on the number of its
            episode depends which track of the cycle it is on.
        threads: see `Simulator`.
        env_args: see `options.Options`.

    Raises:
        ConfigError: an argument that makes no sense.
    """

    kernel, plural = KERNEL, "races"
    options: Options
    state: Races
    outputs: Outputs

    def __init__(
        self,
        batch_size: int = 1,
        seed: int | Sequence[int] | None = None,
        place: Sequence[Sequence[int]] | None = None,
        threads: int = 1,
        **env_args: Any,
    ):
        self._places = np.array([(b, batch_size, b) for b in range(batch_size)] if place is None else list(place))
        super().__init__(Options(seed=seed, **env_args), batch_size, threads)

    def set_up(self) -> None:
        options = self.options
        self.n_agents, self.cycle = options.n_cars, options.races()
        self.maps = list(dict.fromkeys(self.cycle))
        self._order = [self.maps.index(race) for race in self.cycle]
        self.tracks = tracks_of(self.maps, options.pictures, options.line_rules)
        mean, deviation = scaling_of(options.zones_ahead, options.zones_every, options.seen_cars)
        if not options.normalise:
            mean, deviation = np.zeros_like(mean), np.ones_like(deviation)
        ground = ground_of(*options.picture_shape[:2]) if options.pictures else np.zeros((1, 2), np.float32)
        self.views = Views(mean, 1 / deviation, ground)
        self.constants = (self.tracks, world_of(options), self.views)

    def allocate(self, copies: int) -> tuple[Races, Outputs]:
        options = self.options
        floats = float_size(options.zones_ahead, options.seen_cars)
        outputs = allocate_outputs(copies, options.n_cars, floats, options.picture_shape)
        return allocate_races(copies, options.n_cars), outputs

    def begin(self, which: np.ndarray) -> None:
        for b in np.flatnonzero(which).tolist():
            self._draw(b)
        self._place(which)

    def reset_to(self, name: str, begin: int | None = None, first: int = 0) -> Outputs:
        """Begin all races on the track of this name, at a zone (None: the start); car `first` in the grid's last slot.
        Raises ConfigError: no such track in the cycle, or a zone that is none of its own."""
        names = [race.name for race in self.maps]
        if name not in names:
            raise ConfigError(f"The cycle has no track '{quoted(name)}'.{suggestion(name, names)}")
        track = self.tracks.tracks[names.index(name)]
        begin = int(track["start"]) if begin is None else begin
        if not track["start"] <= begin < track["finish"] or not 0 <= first < self.options.n_cars:
            raise ConfigError(f"No race on {name} begins at zone {begin} with car {first} in the last slot.")
        race = self.state.race
        race["episode"] += 1
        race["step"] = race["ended"] = 0
        race["track"], race["begin"], race["first"] = names.index(name), begin, first
        race["whole"] = begin == track["start"]
        self._place(np.ones(self.batch_size, dtype=bool))
        return self.outputs

    def _place(self, which: np.ndarray) -> None:
        self.run(begin, which, shared=bool(np.count_nonzero(which) >= 2 * self.options.races_per_thread))
        for name in ("reward", "pressed", "car_terminated", "car_truncated", "terminated", "truncated"):
            getattr(self.outputs, name)[which] = 0

    def _draw(self, b: int) -> None:
        """Set the next race of row b."""
        race, options = self.state.race[b], self.options
        race["episode"] += 1
        race["step"] = race["ended"] = 0
        rng = np.random.default_rng([int(race["seed"]), int(race["episode"])])
        draws = rng.random(4)
        number, copies, _ = self._places[b].tolist()
        entry = number + int(race["episode"]) * copies if options.map_order == "cycle" else int(draws[0] * 2**40)
        race["track"] = self._order[entry % len(self._order)]
        track = self.tracks.tracks[race["track"]]
        anywhere = not options.test_mode and draws[1] < options.start_anywhere
        race["whole"] = not anywhere
        room = int(grid_metres(options.n_cars) / SPACING) + MARGIN
        race["begin"] = track["start"] + int(anywhere * draws[2] * max(track["finish"] - track["start"] - room, 0))
        race["first"] = int(draws[3] * options.n_cars)

    def play(self, actions: np.ndarray, outputs: Outputs) -> None:
        if (actions.view(np.uint64) >= len(INPUTS)).any():  # negative ones are large
            raise ValueError(f"actions are from {actions.min()} to {actions.max()}; there are 0 to {len(INPUTS) - 1}.")
        self.outputs = outputs
        self.run(step_all, actions)

    def weigh(self, name: str, value: float) -> None:
        """Give a weight of the rewards (`rules.WEIGHTS`) another value."""
        setattr(self.options, name, value)
        self.constants = (self.tracks, world_of(self.options), self.views)

    @property
    def numbers(self) -> np.ndarray:
        """Those of the present races in the cycle that all copies play, int64 `[B]`."""
        return self._places[:, 0] + self.state.race["episode"] * self._places[:, 1]

    def map_of(self, b: int) -> str:
        return self.maps[self.state.race["track"][b]].name

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        if "races.race" in state and state["races.race"]["track"].max(initial=0) >= len(self.maps):
            raise ValueError(f"The state is of races on more tracks than these {len(self.maps)}.")
        super().load_state_dict(state)

    @classmethod
    def compile_all(cls) -> None:
        races = cls(seed=0, n_cars=2, view="both", metres=60)
        races.reset()
        races.step(np.zeros((1, 2), dtype=int))


def world_of(options: Options) -> np.ndarray:
    world = np.zeros(1, dtype=WORLD)
    one = world[0]
    one["ticks"], one["step_limit"] = options.step_ms // TICK_MS, options.time_limit
    one["cut_off_ms"] = round(1000 * options.cut_off_seconds)
    one["walls"], one["contact"], one["gears"] = options.walls, options.contact, options.gears
    gears = max(options.gears, 1)
    one["tops"][1 : gears + 1] = TOP_SPEED * (np.arange(1, gears + 1) / gears) ** SPREAD
    one["grip"] = GRIP * options.grip
    one["time_reward"] = options.constant_reward_per_ms
    one["metre_reward"] = options.reward_per_m_advanced_along_centerline
    at_the_finish = options.final_speed == "finish"
    one["speed_reward" if at_the_finish else "gain_reward"] = options.final_speed_reward_per_m_per_s
    for name in ("speedslide", "neoslide", "kamikaze"):
        one[f"{name}_reward"] = getattr(options, f"engineered_{name}_reward")
    one["close_reward"] = options.engineered_close_to_vcp_reward
    one["point_potential"] = options.shaped_reward_point_to_vcp_ahead
    one["back_reach"] = REACH if options.zone_back == "reach" else np.inf
    one["zones_ahead"], one["zones_every"] = options.zones_ahead, options.zones_every
    one["seen_cars"] = options.seen_cars
    one["height"], one["width"], _ = options.picture_shape
    return world
