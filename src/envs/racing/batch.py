"""Many races at once."""

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from envs.contract.seeds import SEED_LIMIT, copies_seeds
from envs.racing.float_view import scaling_of
from envs.racing.jit import KERNEL
from envs.racing.kernel.entry import begin, step_all
from envs.racing.kernel.zones import REACH
from envs.racing.options import Options
from envs.racing.rasters import ground_of
from envs.racing.state import (
    INPUTS,
    SPACING,
    TICK_MS,
    WORLD,
    Outputs,
    Views,
    allocate_outputs,
    allocate_races,
    float_size,
    grid_metres,
)
from envs.racing.tracks import tracks_of
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import shown
from utils.processes.available_memory import available_memory, require_memory
from utils.processes.thread_shares import ThreadShares

PICTURES_PER_THREAD, CARS_PER_THREAD = 16, 512
MARGIN = 40  # zones before the finish in which no race begins
GRIP = 14.0  # m/s2 that tyres hold with grip 1
TOP_SPEED, SPREAD = 58.0, 0.85  # m/s of the highest gear; gear k of G reaches (k / G) ** SPREAD of it


class BatchedRaces:
    """B races of n cars that one call steps.

    Every race has a seed; its k-th race depends on that seed, its place in the cycle and k alone, not on B, on the
    order in which races end, or on the number of threads.

    Args:
        batch_size: B.
        seed: a list of B seeds; a number s, of which race b takes `environment_seed(s, b)`; None: random ones.
        places: for each race its number among those of the run, and how many these are.
        threads: how many share the races, at most one a race; 1: the calling one alone.
        env_args: see `options.Options`.

    Raises:
        ConfigError: an argument that makes no sense.
    """

    def __init__(
        self,
        batch_size: int = 1,
        seed: int | Sequence[int] | None = None,
        places: Sequence[Sequence[int]] | None = None,
        threads: int = 1,
        **env_args: Any,
    ):
        options = Options(seed=seed, **env_args)
        prepare()
        self._set_up(options, batch_size, places, threads)

    def _set_up(
        self, options: Options, batch_size: int, places: Sequence[Sequence[int]] | None = None, threads: int = 1
    ) -> None:
        self.options, self.batch_size = options, batch_size
        self._places = np.array([(b, batch_size, b) for b in range(batch_size)] if places is None else list(places))
        self.cycle = options.races()
        self.maps = list(dict.fromkeys(self.cycle))
        self._order = [self.maps.index(race) for race in self.cycle]
        self.tracks = tracks_of(self.maps, options.pictures, options.line_rules)
        self.world = world_of(options)
        floats, picture = float_size(options.zones_ahead, options.seen_cars), options.picture_shape
        mean, deviation = scaling_of(options.zones_ahead, options.zones_every, options.seen_cars)
        if not options.normalise:
            mean, deviation = np.zeros_like(mean), np.ones_like(deviation)
        self.views = Views(
            mean, 1 / deviation, ground_of(*picture[:2]) if options.pictures else np.zeros((1, 2), np.float32)
        )
        one = (*allocate_races(1, options.n_cars), *allocate_outputs(1, options.n_cars, floats, picture))
        require_memory(
            f"A batch of {batch_size} races",
            batch_size * sum(array.nbytes for array in one),
            available_memory(),
            "Choose a smaller batch_size_run.",
        )
        self.races = allocate_races(batch_size, options.n_cars)
        self.outputs = allocate_outputs(batch_size, options.n_cars, floats, picture)
        self._shares = ThreadShares(batch_size, threads)
        # those of each thread
        self._parts = list(zip(self._shares.cut(self.races), self._shares.cut(self.outputs), strict=True))
        self.seed(options.seed)

    def seed(self, seed: int | Sequence[int] | None) -> None:
        """Seed the races, as the constructor does, and count them from 0 again."""
        race = self.races.race
        race["seed"] = copies_seeds(secrets.randbelow(SEED_LIMIT) if seed is None else seed, self.batch_size)
        race["episode"] = -1
        race["ended"] = 1

    def reset(self, which: np.ndarray | None = None) -> Outputs:
        """Begin the next race of those `which` (bool `[B]`; None: all)."""
        which = np.ones(self.batch_size, dtype=bool) if which is None else np.asarray(which, dtype=bool)
        for b in np.flatnonzero(which).tolist():
            self._draw(b)
        return self._begin(which)

    def reset_to(self, name: str, begin: int | None = None, first: int = 0) -> Outputs:
        """Begin all races on the track of this name, at a zone (None: the start); car `first` in the grid's last slot.

        Raises:
            ConfigError: no such track in the cycle, or a zone that is none of its own.
        """
        names = [race.name for race in self.maps]
        if name not in names:
            raise ConfigError(f"The cycle has no track '{shown(name)}'.{suggestion(name, names)}")
        track = self.tracks.tracks[names.index(name)]
        begin = int(track["start"]) if begin is None else begin
        if not track["start"] <= begin < track["finish"] or not 0 <= first < self.options.n_cars:
            raise ConfigError(f"No race on {name} begins at zone {begin} with car {first} in the last slot.")
        race = self.races.race
        race["episode"] += 1
        race["step"] = race["ended"] = 0
        race["track"], race["begin"], race["first"] = names.index(name), begin, first
        race["whole"] = begin == track["start"]
        return self._begin(np.ones(self.batch_size, dtype=bool))

    def _begin(self, which: np.ndarray) -> Outputs:
        world = (self.tracks, self.world, self.views)
        if len(self._shares) == 1 or np.count_nonzero(which) < 2 * copies_per_thread(self.options):
            begin(self.races, which, *world, self.outputs)
        else:
            parts = zip(self._parts, self._shares.slices, strict=True)
            self._shares.do(begin, [(races, which[rows], *world, out) for (races, out), rows in parts])
        for name in ("reward", "pressed", "car_terminated", "car_truncated", "terminated", "truncated"):
            getattr(self.outputs, name)[which] = 0
        return self.outputs

    def _draw(self, b: int) -> None:
        """Set the next race of row b."""
        race, options = self.races.race[b], self.options
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

    def step(self, actions: np.ndarray) -> Outputs:
        """One step of all races; one that has ended stays as it is until it is reset.

        Args:
            actions: whole numbers `[B, n]`, below `len(INPUTS)`.

        Returns:
            where it was written: always the same arrays.

        Raises:
            ValueError: an action that does not exist, or a wrong shape; nothing has happened then.
        """
        actions = np.ascontiguousarray(actions, dtype=np.int64)
        if actions.shape != (self.batch_size, self.options.n_cars):
            raise ValueError(f"actions have the shape {actions.shape}, not {(self.batch_size, self.options.n_cars)}.")
        if actions.min() < 0 or actions.max() >= len(INPUTS):
            raise ValueError(f"actions are from {actions.min()} to {actions.max()}; there are 0 to {len(INPUTS) - 1}.")
        world = (self.tracks, self.world, self.views)
        if len(self._shares) == 1:
            step_all(self.races, *world, actions, self.outputs)
        else:  # no race knows of another
            parts = zip(self._parts, self._shares.slices, strict=True)
            self._shares.do(step_all, [(races, *world, actions[rows], out) for (races, out), rows in parts])
        return self.outputs

    def weigh(self, name: str, value: float) -> None:
        """Give a weight of the rewards (`reward_weights`) another value."""
        setattr(self.options, name, value)
        self.world = world_of(self.options)

    @property
    def numbers(self) -> np.ndarray:
        """Those of the present races in the cycle that all copies play, int64 `[B]`."""
        return self._places[:, 0] + self.races.race["episode"] * self._places[:, 1]

    def map_of(self, b: int) -> str:
        """The name of the track of race b."""
        return self.maps[self.races.race["track"][b]].name

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of everything that a step reads or leaves."""
        arrays = {f"races.{name}": value for name, value in self.races._asdict().items()}
        arrays |= {f"outputs.{name}": value for name, value in self.outputs._asdict().items()}
        return {name: value.copy() for name, value in arrays.items()}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Continue from where `state_dict` was taken, in a batch of the same size with the same arguments.

        Raises:
            ValueError: it was another size, or another number of tracks; nothing has happened then.
        """
        arrays = {f"races.{name}": value for name, value in self.races._asdict().items()}
        arrays |= {f"outputs.{name}": value for name, value in self.outputs._asdict().items()}
        for name, array in arrays.items():
            if name not in state or np.shape(state[name]) != array.shape:
                found = np.shape(state[name]) if name in state else "missing"
                raise ValueError(f"The state does not fit these races: {name} is {found}, not {array.shape}.")
        if state["races.race"]["track"].max(initial=0) >= len(self.maps):
            raise ValueError(f"The state is of races on more tracks than these {len(self.maps)}.")
        for name, array in arrays.items():
            array[...] = state[name]


def copies_per_thread(options: Options) -> int:
    """For how many races a thread of their own pays: those whose cars take longer than a thread takes to wake up."""
    return -(-(PICTURES_PER_THREAD if options.pictures else CARS_PER_THREAD) // options.n_cars)


def world_of(options: Options) -> np.ndarray:
    """The constants of the world, `[1]` WORLD."""
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


def prepare() -> None:
    """Compile everything, unless that was done before."""
    KERNEL.ensure_compiled(compile_all)


def compile_all() -> None:
    """Use everything once."""
    races = BatchedRaces.__new__(BatchedRaces)
    races._set_up(Options(seed=0, n_cars=2, view="both", metres=60), batch_size=1)
    races.reset()
    races.step(np.zeros((1, 2), dtype=int))
