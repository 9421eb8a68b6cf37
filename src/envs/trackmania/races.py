"""Races, message by message: start, steps, finish. Between calls the game waits in a turn."""

from typing import NamedTuple

from envs.racing.state import INPUTS
from envs.trackmania.game import Game
from envs.trackmania.link import GameLost
from envs.trackmania.maps import TrackMap
from envs.trackmania.simulation_state import SimulationState

MOST_MESSAGES = 100_000  # of the game, for one step or one start of a race


class Moment(NamedTuple):
    """A moment of a race.

    `time`: milliseconds. `pixels`: BGRA, if pictures are seen; None at the finish, where none is drawn.
    """

    state: SimulationState
    time: int
    finished: bool
    pixels: bytes | None


class Races:
    """Races on one game; `begin` and `drive` raise `GameLost`."""

    def __init__(self, game: Game):
        self._game, self._options, self._time = game, game.options, 0
        self._frame_due = False

    def begin(self, wanted: TrackMap) -> Moment:
        """Start a race on this map; returns the moment at which it begins."""
        game = self._game
        game.connect()
        # whether the start was asked for, whether its countdown has begun, and whether a new map's interface is shown
        asked = counts = interface = False
        if game.turn.name == "connected":
            game.set_up(wanted)
            interface = asked = True
        else:
            game.turn.send("set_speed", self._options.speed)
            game.turn.send("set_timeout", self._options.turn_ms)
            game.resume()
        for _ in range(MOST_MESSAGES):
            turn = game.next_turn()
            if turn.name == "connected":
                game.set_up(wanted)
                interface, asked, counts = True, True, False
                continue
            if turn.name != "run_step":
                game.resume()
                continue
            time = turn.values["time"]
            game.first_step()
            if interface:
                turn.send("toggle_interface", 0)
                interface = False
            if not asked:
                asked, start = True, game.starts.get(wanted.path)
                if game.loaded != wanted.path:
                    game.load(wanted)
                    interface = True
                elif start is None:
                    turn.send("give_up")
                else:
                    turn.send("rewind", start)
                    return self._begun(0)
                counts = False
            elif time < 0:
                counts = True
            elif counts and time % self._options.step_ms == 0:
                if time == 0:
                    game.starts[wanted.path] = bytes(turn.ask("get_state"))
                return self._begun(time)
            game.resume()
        raise GameLost("it does not start the race")

    def _begun(self, time: int) -> Moment:
        """The first moment; what was pressed at the end of the last race is let go."""
        self._game.turn.send("set_inputs", 0, 0, 0, 0)
        return self._arrived(time)

    def drive(self, action: int) -> Moment:
        game, options = self._game, self._options
        accelerate, brake, left, right = INPUTS[action]
        game.turn.send("set_inputs", left, right, accelerate, brake)
        game.turn.send("set_speed", options.speed)
        game.resume()
        for _ in range(MOST_MESSAGES):
            turn = game.next_turn()
            if self._is_finish():
                return self._finish(frame_due=False)
            if turn.name == "connected":
                raise GameLost("its plugin was loaded again")
            if turn.name == "run_step":
                time = turn.values["time"]
                if time < self._time:
                    raise GameLost(f"the race was restarted by somebody else, at {self._time} ms")
                if time > self._time and time % options.step_ms == 0:
                    return self._arrived(time)
            game.resume()
        raise GameLost("it does not come to the next step")

    def pause(self) -> None:
        """End the race: the game waits for the next one."""
        self._game.hold(self._frame_due)

    def _arrived(self, time: int) -> Moment:
        """The moment of this run step; it ends in a turn that the game waits in."""
        game, options, self._time = self._game, self._options, time
        turn, self._frame_due = game.turn, False
        state = SimulationState(turn.ask("get_state"))
        turn.send("rewind_in_place")
        game.started()
        if not options.pictures:
            return Moment(state, time, False, None)
        turn.send("set_speed", 0.0)
        turn.send("request_frame", options.frame_width, options.frame_height)
        game.resume()
        for _ in range(MOST_MESSAGES):
            turn = game.next_turn()
            if turn.name == "frame":
                return Moment(state, time, False, turn.values["pixels"])
            if self._is_finish():  # in the tick of the step
                return self._finish(frame_due=True)
            game.resume()
        raise GameLost("it does not send the frame")

    def _is_finish(self) -> bool:
        turn = self._game.turn
        return turn.name == "checkpoint_count" and turn.values["current"] == turn.values["target"]

    def _finish(self, frame_due: bool) -> Moment:
        """The finish, undone: else the game would show its end, and wait there."""
        turn = self._game.turn
        state = SimulationState(turn.ask("get_state"))
        before = state.without_finish()
        if before is None:
            turn.send("prevent_finish")
        else:
            turn.send("rewind", before)
        self._frame_due = frame_due
        return Moment(state, self._finish_time(state), True, None)

    def _finish_time(self, state: SimulationState) -> int:
        """The milliseconds at the finish, within the step that was driven, whatever the state says."""
        latest = self._time + self._options.step_ms
        said = [int(state["race_time"]), *state.checkpoint_times[-1:].tolist()]
        return next((time for time in said if self._time <= time <= latest), latest)
