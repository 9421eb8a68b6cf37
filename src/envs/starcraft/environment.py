"""A smac environment whose game may crash."""

import contextlib
import logging
import sys
from typing import Any

from envs.multiagentenv import MultiAgentEnv
from envs.skirmish.meaning import of_smac
from envs.starcraft.launching import GameFolder
from utils.errors import MusterError
from utils.meanings import Meaning

log = logging.getLogger("muster")


class GameCrashed(Exception):
    """The game has died, hangs, or replies with nonsense."""


class StarCraftEnv(MultiAgentEnv):
    """smac's or smacv2's environment; crashes of the game are part of the contract.

    smac relaunches a crashed game within the step and ends the episode with an empty info, like a lost one; a crash in
    the first episode makes it count the maximum reward twice, which shrinks all later rewards; and nothing bounds
    repeated crashes. Here an episode whose game crashes ends as a truncated one, with the info
    `{"crashed": True, "episode_limit": True}`: runners keep it out of all statistics, and learners bootstrap. The next
    reset starts a new game, with the same reward scale.

    Args:
        env: the package's environment, before its first reset.
        max_restarts: the number of tolerated crashes in a row.
        game_timeout: seconds without an answer after which a game counts as crashed.

    Raises:
        MusterError: from `reset` and `step`, after more crashes in a row.
    """

    def __init__(self, env: Any, max_restarts: int, game_timeout: int):
        self.env = env
        self.max_restarts, self.game_timeout = max_restarts, game_timeout
        self.n_agents, self.episode_limit = env.n_agents, env.episode_limit
        self._smac = env.env if hasattr(env, "env") else env  # smacv2's has another one inside
        self._first_max_reward, self._max_reward = self._smac.max_reward, None
        self._crashes_in_a_row = 0
        self._folder: GameFolder | None = None
        self._launch = self._smac._launch
        self._smac._launch = self._launch_guarded
        self._smac.full_restart = self._crash

    def _launch_guarded(self) -> None:
        """In place of smac's `_launch`."""
        from absl import flags
        from pysc2.lib import protocol, remote_controller, sc_process
        from websocket import WebSocketException

        flags.FLAGS.sc2_timeout = round(self.game_timeout)  # type: ignore[assignment]
        if self._folder is None:
            self._folder = GameFolder()
        crashes: tuple[type[Exception], ...] = (protocol.ProtocolError, protocol.ConnectionError, OSError)
        crashes += (remote_controller.ConnectError, WebSocketException)
        try:
            with self._folder.launching():
                self._launch()
        except crashes as error:
            raise GameCrashed(self._what_happened(error)) from error
        except (sc_process.SC2LaunchError, remote_controller.RequestError) as error:
            raise MusterError(f"StarCraft II cannot play {self._smac.map_name}: {error}") from error

    def _crash(self) -> None:
        """In place of smac's `full_restart`, which it calls from wherever the connection fails."""
        raise GameCrashed(self._what_happened(sys.exception()))

    def _what_happened(self, error: BaseException | None) -> str:
        """Why a request failed: the game hangs, or the connection is lost."""
        from websocket import WebSocketTimeoutException

        message = ""
        while error is not None:
            if isinstance(error, WebSocketTimeoutException):
                return f"it hangs: no reply for {self.game_timeout} seconds (env_args.game_timeout)"
            message, error = message or str(error), error.__context__
        return f"no connection to the game: {message}" if message else "no connection to the game"

    def _after_crash(self, error: GameCrashed) -> None:
        self._crashes_in_a_row += 1
        self._smac.force_restarts += 1
        self._end_game()
        where = f"on {self._smac.map_name}, {self._crashes_in_a_row} in a row"
        if self._crashes_in_a_row > self.max_restarts:
            self.close()
            raise MusterError(f"StarCraft II has crashed {where} (env_args.max_restarts={self.max_restarts}): {error}.")
        log.warning(
            f"StarCraft II has crashed {where}: {error}. No statistic counts its episode; the game is restarted."
        )

    def _end_game(self) -> None:
        if self._smac._sc2_proc is not None:
            with contextlib.suppress(Exception):  # a dead game's connection may raise anything
                self._smac._sc2_proc.close()
            self._smac._sc2_proc = None

    def reset(self) -> Any:
        while True:
            if self._smac._sc2_proc is None:
                # smac launches a game before its first episode only, and only then adds up the maximum reward
                self._smac._episode_count, self._smac.max_reward = 0, self._first_max_reward
            try:
                begun = self.env.reset()
            except GameCrashed as error:
                self._after_crash(error)
                continue
            if self._max_reward is None:
                self._max_reward = self._smac.max_reward
            # smacv2's depends on the teams that are drawn first; one run has one scale
            self._smac.max_reward = self._max_reward
            return begun

    def step(self, actions: Any) -> tuple[float, bool, dict]:
        """See `MultiAgentEnv.step`; `info` has `battle_won`, `dead_allies`, `dead_enemies`, or says `crashed`."""
        try:
            reward, terminated, info = self.env.step(actions)
        except GameCrashed as error:
            self._after_crash(error)
            return 0.0, True, {"crashed": True, "episode_limit": True}
        if terminated:
            self._crashes_in_a_row = 0
        return reward, terminated, info

    def get_stats(self) -> dict[str, float]:
        """smac's statistics over all finished episodes, also before the first one; crashed ones are in none but
        `restarts`."""
        if self._smac.battles_game == 0:
            names = ("battles_won", "battles_game", "battles_draw", "win_rate", "timeouts")
            return {**dict.fromkeys(names, 0), "restarts": self._smac.force_restarts}
        return self.env.get_stats()

    def save_replay(self) -> None:
        """Save the game's replay, of all episodes since it was started, as `<replay_dir>/<prefix or map>_<time>`."""
        if self._smac._sc2_proc is None:
            raise NotImplementedError("no game is running: the last one has crashed, or none has started")
        self.env.save_replay()

    def close(self) -> None:
        self._end_game()
        if self._folder is not None:
            self._folder.close()
            self._folder = None

    def get_obs(self):
        return self.env.get_obs()

    def get_obs_agent(self, agent_id: int):
        return self.env.get_obs_agent(agent_id)

    def get_obs_size(self) -> int:
        return self.env.get_obs_size()

    def get_state(self):
        return self.env.get_state()

    def get_state_size(self) -> int:
        return self.env.get_state_size()

    def get_avail_actions(self):
        return self.env.get_avail_actions()

    def get_avail_agent_actions(self, agent_id: int):
        return self.env.get_avail_agent_actions(agent_id)

    def get_total_actions(self) -> int:
        return self.env.get_total_actions()

    def get_env_info(self) -> dict:
        return self.env.get_env_info()

    def meaning(self) -> Meaning | None:
        """What smac's numbers and actions mean; of smacv2's, which has other numbers, nothing is known."""
        return of_smac(self.env) if self._smac is self.env else None

    def seed(self, seed: int | None = None) -> Any:
        """The game's seed; smac cannot reseed a running game."""
        return self._smac._seed

    def render(self) -> Any:
        return self.env.render()

    def __getattr__(self, name: str) -> Any:
        """Everything else that the package's environment has, as `get_unit_by_id` or `battles_won`."""
        if name == "env":  # not set yet
            raise AttributeError(name)
        return getattr(self.env, name)
