"""TrackMania as an environment, with racing's fields, inputs, rewards and statistics."""

import logging
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from envs.contract.arguments import require_known, signature_of
from envs.contract.fields import AGENTS, FieldSpec
from envs.racing.fields import fields_of, observed, outcomes
from envs.racing.kernel.zones import REACH
from envs.racing.options import FRAMES
from envs.racing.options import Options as RacingOptions
from envs.racing.results import ended_info
from envs.racing.rules import Rules
from envs.racing.snapshots import ACTION_NAMES
from envs.racing.state import INPUTS, PREVIOUS, allocate_outputs
from envs.trackmania.float_view import SIZE, floats_of, grey_of, scaling, wheels_of
from envs.trackmania.game import Game, NotRunning
from envs.trackmania.inputs_script import script_of
from envs.trackmania.link import GameLost
from envs.trackmania.options import Options
from envs.trackmania.races import Moment, Races
from envs.trackmania.rewards import potential_of, reward_of, standing
from utils.errors import MusterError

log = logging.getLogger("muster")

PEDAL_ACCELERATES = np.array([accelerate for accelerate, *_ in INPUTS], dtype=bool)


class TrackManiaEnv:
    """One game in the form of `envs.contract.fields`. The game starts, or is connected to, at the first reset.

    A race whose game crashes is truncated, with `crashed` in its info, and in no statistic; the next reset connects
    again, and starts the game again if it was started here.

    Args:
        env_args: see `options.Options` and docs/trackmania_game.md.

    Raises:
        ConfigError: an argument that makes no sense.
        MusterError: from `reset` and `step`: no game runs that the user was to start, or it has crashed more than
            `max_restarts` times in a row.
    """

    __signature__ = signature_of(Options)
    answers_within = ("launch_timeout", "game_timeout")

    def __init__(self, **env_args: Any):
        require_known("trackmania", Options, env_args)
        self.options = Options(**env_args)
        self.groups, self.episode_limit = {AGENTS: 1}, self.options.time_limit
        self._cycle = self.options.maps()
        self._maps = len({one.name for one in self._cycle})
        self._races_begun, self._crashes_in_a_row, self.restarts = 0, 0, 0
        mean, deviation = scaling() if self.options.normalise else (np.zeros(SIZE), np.ones(SIZE))
        self._mean, self._deviation = mean.astype(np.float32), deviation.astype(np.float32)
        common = {one.name: getattr(self.options, one.name) for one in fields(Rules)}
        frames = {key: getattr(self.options, key) for key in FRAMES}
        self._racing = RacingOptions(**common, **frames)  # with the same fields
        self._outputs = allocate_outputs(1, 1, SIZE, self._racing.picture_shape)
        self._back_reach = REACH if self.options.zone_back == "reach" else np.inf
        self._game = Game(self.options)
        self._races = Races(self._game)

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        require_known("trackmania", Options, env_args)
        Options(**env_args).maps()

    def take_live(self, name: str, value: float) -> None:
        """A weight of the rewards has another value from now on (`racing.rules`)."""
        setattr(self.options, name, value)

    @property
    def scaling(self) -> tuple[np.ndarray, np.ndarray]:
        """The means and deviations by which the float view is scaled, `[F]` each."""
        return self._mean, self._deviation

    def fields(self) -> dict[str, FieldSpec]:
        return fields_of(self._racing)

    def reset(self) -> None:
        number, copies, _ = self.options.place
        self._number = np.array([number + self._races_begun * copies])
        self._map = self._cycle[int(self._number[0]) % len(self._cycle)]
        while True:
            try:
                moment = self._races.begin(self._map)
                break
            except GameLost as error:
                self._after_crash(error)
        self._races_begun += 1
        self._line = self._map.line(self.options.line_rules)
        self._zone = self._furthest = self._line.start
        self._actions: list[int] = []
        self._path: list[np.ndarray] = []
        self._time = self._progress_ms = self._steps = self._shifting = 0
        self._outputs.frames[...] = 0
        self._note(moment)
        self._begun_metres = self._metres

    def observe(self) -> dict[str, np.ndarray]:
        return {path: array[0] for path, array in observed(self._racing, self._outputs, self._number).items()}

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], bool, bool, dict[str, Any]]:
        """See `envs.contract.fields`; `envs.racing.results` has the info. Raises ValueError: an action that does not
        exist."""
        action = int(np.asarray(actions["actions"]).reshape(()))
        if not 0 <= action < len(INPUTS):
            raise ValueError(f"the action is {action}; there are 0 to {len(INPUTS) - 1}.")
        outputs, before = self._outputs, self._standing
        outputs.pressed[...], outputs.reward[...] = PEDAL_ACCELERATES[action], 0.0
        self._steps += 1
        try:
            moment = self._races.drive(action)
            self._actions.append(action)
            self._note(moment)
            cut = not moment.finished and self._is_cut()
            if moment.finished or cut:
                self._races.pause()
        except GameLost as error:
            self._after_crash(error)
            return self._outcomes(), False, True, {"crashed": True, "map": self._map.name}
        over = moment.finished or cut
        outputs.reward[...] = reward_of(self.options, before, self._standing, action, moment.finished, over)
        if not over:
            return self._outcomes(), False, False, {"map": self._map.name}
        self._crashes_in_a_row = 0
        return self._outcomes(), moment.finished, cut, self._info(moment)

    def action_names(self) -> list[list[str]]:
        return [list(ACTION_NAMES)]

    def get_stats(self) -> dict[str, float]:
        """The number of crashes of the game so far."""
        return {"restarts": self.restarts}

    def close(self) -> None:
        self._game.end()

    def _note(self, moment: Moment) -> None:
        """Write what is seen at a moment, and where the car is."""
        outputs, state, line = self._outputs, moment.state, self._line
        position = state["position"].astype(np.float64)
        self._path.append(position)
        if moment.finished:
            self._zone, self._metres = line.entry, line.end
        else:
            self._zone = line.zone_of(self._zone, position, self._back_reach)
            self._metres = line.metres_of(self._zone, position)
        if self._zone > self._furthest:
            self._furthest, self._progress_ms = self._zone, moment.time
        self._time = moment.time
        self._shifting = self._shifting + 1 if state["gearbox"] else 0
        wheels = wheels_of(state, self._shifting)
        floats = floats_of(state, wheels, self._actions[-PREVIOUS:], line, self._zone, self._metres)
        outputs.floats[0, 0] = (floats - self._mean) / self._deviation
        outputs.wheels[0, 0] = wheels
        outputs.zone[...], outputs.furthest[...], outputs.metres[...] = self._zone, self._furthest, self._metres
        distance = line.distance(self._zone, position)
        self._standing = standing(state, moment.time, self._metres, distance)
        outputs.potential[...] = potential_of(self.options, state, line, self._zone, distance)
        if moment.pixels is not None:
            outputs.frames[0, 0] = grey_of(moment.pixels, self.options.frame_height, self.options.frame_width)

    def _is_cut(self) -> bool:
        idle = self._time - self._progress_ms
        return idle >= 1000 * self.options.cut_off_seconds or self._steps >= self.options.time_limit

    def _outcomes(self) -> dict[str, Any]:
        return {path: array[0] for path, array in outcomes(self._racing, self._outputs).items()}

    def _info(self, moment: Moment) -> dict[str, Any]:
        finished, times = np.array([moment.finished]), np.array([self._time])
        info = ended_info(self._map.name, self._maps, finished, times, self._metres - self._begun_metres)
        passed = [int(time) for time in moment.state.checkpoint_times if time >= 0]
        info["end_race_stats"]["cp_time_ms"] = passed
        if best := info.get("best_of"):
            script = script_of(self._actions, self.options.step_ms)
            best["files"] = {"race.inputs": script, "positions": np.array(self._path)}
        return info

    def _after_crash(self, error: GameLost) -> None:
        """Let go of the game; one that is started here and crashes twice in a row is started again.

        One that the user is to start is waited for once; after a crash, as often as others are started again.
        """
        absent = isinstance(error, NotRunning)
        if absent and not self.options.launch and not self._game.met:
            self._game.end()
            raise MusterError(f"TrackMania is not running: {error}.")
        self._crashes_in_a_row += 1
        self.restarts += 1
        times = self._crashes_in_a_row
        what = (
            f"does not answer, {times} times in a row"
            if absent
            else f"has crashed on {self._map.name}, {times} in a row"
        )
        if times > self.options.max_restarts:
            self._game.end()
            raise MusterError(f"TrackMania {what} (env_args.max_restarts): {error}.")
        if times > 1:
            self._game.end()
        else:
            self._game.disconnect()
        log.warning(f"TrackMania {what}: {error}." + ("" if absent else " No statistic counts its race."))
