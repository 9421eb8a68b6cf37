"""One game: its process if it is started here, the connection to it, and what it needs to be told first."""

import contextlib
import logging
import socket
import time
from pathlib import Path

from envs.trackmania.launching import GameProcess, StartLock
from envs.trackmania.link import GameLink, GameLost, Turn, TurnError
from envs.trackmania.maps import TrackMap
from envs.trackmania.options import Options

log = logging.getLogger("muster")

HOST = "127.0.0.1"
RETRY_SECONDS, FIRST_WORD = 0.2, 5  # between attempts to connect; seconds until the first log message
START = "Start the game, or set env_args.launch to the command that starts it (docs/trackmania_game.md)"
BETWEEN_RACES_MS = 600_000_000  # a week: how long the game waits for the next race
VARIABLES = (
    "set countdown_speed {speed}",
    "set unfocused_fps_limit false",
    "set skip_map_load_screens true",
    "set disable_forced_camera true",
    "set autorewind false",
    "set auto_reload_plugins false",
)


class NotRunning(GameLost):
    """No game accepts a connection on its port."""


class Game:
    """The game on a port.

    `met`: whether it has ever accepted a connection. `starts`: the state at time 0 of each map that was raced on this
    connection.
    """

    def __init__(self, options: Options):
        self.options = options
        self._link: GameLink | None = None
        self._turn: Turn | None = None
        self.loaded = ""  # the path of the map; "": not known
        self.starts: dict[str, bytes] = {}
        self._process: GameProcess | None = None
        self._lock = StartLock()
        self._launched = self._bare = self.met = False

    @property
    def link(self) -> GameLink:
        """The connection; raises TurnError if there is none."""
        if self._link is None:
            raise TurnError("there is no connection")
        return self._link

    @property
    def turn(self) -> Turn:
        """The one in which the game waits; raises TurnError if it does not."""
        if self._turn is None:
            raise TurnError("the game does not wait")
        return self._turn

    def connect(self) -> None:
        """Start the game if it does not run and is to be started here; connect unless that is done. Raises `GameLost`:
        it ended; or `NotRunning`: nothing accepted a connection within `launch_timeout`."""
        if self._link is not None:
            return
        options = self.options
        if options.launch and (self._process is None or not self._process.alive):
            self.end()
            self._lock.acquire()
            self._process, self._launched = GameProcess(options.launch, options.own_port), True
        link = self._link = GameLink(self._accepted(), options.launch_timeout)
        self.met = True
        self._turn = link.turn()
        if self.turn.name != "connected":
            raise GameLost(f"it began with {self.turn.name} and not with connected")
        link.timeout = options.game_timeout

    def set_up(self, wanted: TrackMap) -> None:
        """What a game is told in the turn `connected`, which ends.

        It loads `wanted` in any case: a race that was over, and not undone, has no run steps to do it in.
        """
        turn, options = self.turn, self.options
        if self._launched:  # its console is open then
            turn.send("execute", "toggle_console")
            self._launched = False
        turn.send("set_speed", 1.0)
        turn.send("cancel_frame")  # that a client before may have asked for
        turn.send("set_step_period", options.step_ms)
        for command in VARIABLES:
            turn.send("execute", command.format(speed=f"{options.countdown_speed:g}"))
        if options.user:
            turn.send("execute", f"set autologin {options.user}")
        self.load(wanted)
        self._bare = True
        self.resume()

    def first_step(self) -> None:
        """What it is told at its first run step."""
        if self._bare:
            self.turn.send("set_timeout", self.options.turn_ms)
            self.turn.send("execute", "cam 2")
            self._bare = False

    def load(self, wanted: TrackMap) -> None:
        """Let it load a map, after this turn."""
        self._hide_personal_best(wanted)
        self.turn.send("execute", f'map "{wanted.path}"')
        self.loaded = wanted.path

    def next_turn(self) -> Turn:
        """Wait for the game's next message."""
        turn = self._turn = self.link.turn()
        return turn

    def resume(self) -> None:
        """Echo: the game continues."""
        turn, self._turn = self.turn, None
        turn.echo()

    def hold(self, frame_due: bool) -> None:
        """Let it wait until the next race; a frame that it still owes is taken back."""
        self.turn.send("set_timeout", BETWEEN_RACES_MS)
        if frame_due:
            self.turn.send("cancel_frame")
        self.turn.flush()

    def started(self) -> None:
        """Its first race has begun: other games may start."""
        self._lock.release()

    def disconnect(self) -> None:
        """Close the connection; the game continues at its own speed."""
        if self._link is not None:
            self._link.close()
        self._link = self._turn = None
        self.loaded = ""
        self.starts.clear()
        self._lock.release()

    def end(self) -> None:
        """Close the connection, and the game if it was started here; may be called twice."""
        self.disconnect()
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _accepted(self) -> socket.socket:
        options, begun, said = self.options, time.monotonic(), False
        while True:
            try:
                return socket.create_connection((HOST, options.own_port), timeout=options.launch_timeout)
            except OSError as error:
                waited = time.monotonic() - begun
                if self._process is not None and not self._process.alive:
                    raise GameLost(f"it ended before it accepted a connection: {self._process.command}") from None
                remedy = "" if options.launch else f"{START}. "
                if waited > options.launch_timeout:
                    raise NotRunning(
                        f"nothing accepts a connection on port {options.own_port} ({error.strerror or error}). {remedy}"
                        'If the game runs, look at TMInterface\'s console: "Unknown variable: custom_port" means that '
                        "the plugin is not loaded"
                    ) from None
                if waited > FIRST_WORD and not said:
                    wait = f"for at most {options.launch_timeout:g} seconds"
                    log.warning(f"Waiting for TrackMania on port {options.own_port}, {wait}. {remedy}".rstrip())
                    said = True
                time.sleep(RETRY_SECONDS)

    def _hide_personal_best(self, wanted: TrackMap) -> None:
        """Rename the personal best's replay: the game would show its car in the pictures."""
        options = self.options
        if options.documents and options.user:
            folder = Path(options.documents).expanduser() / "Tracks" / "Replays" / "Autosaves"
            replay = folder / f"{options.user}_{wanted.file_stem}.Replay.gbx"
            with contextlib.suppress(OSError):  # there is none
                replay.replace(replay.with_suffix(".bak"))
