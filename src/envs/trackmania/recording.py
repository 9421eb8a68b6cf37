"""The way of a race that somebody else drives in the game: a person, or a script of inputs."""

import numpy as np

from envs.trackmania.game import Game
from envs.trackmania.link import GameLost
from envs.trackmania.options import Options
from envs.trackmania.simulation_state import SimulationState
from utils.errors import MusterError

STEP_MS = 50  # between two positions


def recorded_way(port: int, path: str = "", timeout: float = 3600.0) -> np.ndarray:
    """Watch the game on a port until a race is finished; nothing is pressed, and the finish stays as it is.

    A race that is restarted is recorded from its new start. Other races of the session are left out: one counts whose
    countdown, or whose time 0, was seen.

    Args:
        path: of the map that is loaded first, as the game's console takes it; "": what is loaded stays.
        timeout: seconds until the game accepts a connection, and that may pass without a message, as in its menus.

    Returns:
        positions `[T, 3]`, metres, from the start to the finish.
    """
    game = Game(Options(port=port, launch_timeout=timeout, game_timeout=timeout, turn_timeout=600.0))
    try:
        return _watched(game, path)
    except GameLost as error:
        raise MusterError(f"No race was recorded from TrackMania on port {port}: {error}.") from None
    finally:
        game.end()


def _watched(game: Game, path: str) -> np.ndarray:
    game.connect()
    game.turn.send("set_speed", 1.0)
    game.turn.send("set_step_period", STEP_MS)
    if path:
        game.turn.send("execute", f'map "{path}"')
    game.resume()
    way: list[np.ndarray] = []
    begun, latest = False, 0
    while True:
        turn = game.next_turn()
        if turn.name == "run_step":
            time = turn.values["time"]
            if time <= 0 or time < latest:
                begun, way = time <= 0, []
            if begun and time >= 0:
                way.append(_position(turn))
            latest = time
        elif turn.name == "connected":  # its plugin was loaded again
            begun, way = False, []
        elif turn.name == "checkpoint_count" and turn.values["current"] == turn.values["target"] and way:
            way.append(_position(turn))
            game.resume()
            return np.array(way)
        game.resume()


def _position(turn) -> np.ndarray:
    return SimulationState(turn.ask("get_state"))["position"].astype(np.float64)
