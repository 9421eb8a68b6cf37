"""A league: main players and exploiters, each a run of its own, meet by a shared folder (Vinyals et al. 2019)."""

import copy
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from checkpoints.parts import declared_names, load_state, state_of
from collection.opponents.league_folder import LeagueFolder
from collection.opponents.league_pool import LeaguePool
from collection.opponents.matchmaking import LEAGUE_EXPLOITER, MAIN, MAIN_EXPLOITER, Matchmaking, newest_of
from collection.opponents.pool import Weights
from collection.opponents.self_play import SavedTeams, SelfPlay
from collection.opponents.win_rates import WinRates, won
from controllers.teams import TeamControllers
from learners.non_finite import require_finite
from records.logger import Logger

# how often an exploiter begins again when a copy of it was frozen (AlphaStar, Methods)
BEGINS_AGAIN = {MAIN: 0.0, MAIN_EXPLOITER: 1.0, LEAGUE_EXPLOITER: 0.25}
# episodes against each of those whom an exploiter must beat, before its rate is believed
ENOUGH = 20.0


class League(SelfPlay):
    """One player of a league: its opponents are the frozen copies of all players, by the rules of its role.

    A main player freezes a copy every `opponent_interval` steps. An exploiter does when it beats all main players (a
    league exploiter: all copies) more often than `league_win_rate`, or after `league_reset_steps`; then it may begin
    again: its learner becomes what it was at the start of the run.

    Args:
        learners: of the teams that learn, by name; the others: see `SelfPlay`.
    """

    def __init__(
        self,
        args: SimpleNamespace,
        mac: TeamControllers,
        acting_mac: TeamControllers,
        learning: Mapping[str, Sequence[str]],
        logger: Logger,
        learners: Mapping[str, Any],
    ):
        self._role, self._learners = args.league_role, learners
        self._known = {team: declared_names(learner) for team, learner in learners.items()}
        self._rates = WinRates(args.opponent_memory)
        self._player = args.league_player or f"{args.league_role}_{args.seed}"
        self._folder = LeagueFolder(args.league_folder, self._player, self._role, args.unique_token)
        # the learners as they were at the start, of a player that may begin again
        self._first: dict[str, Any] = {}
        self._begun: int | None = None
        self._joined = False
        super().__init__(args, mac, acting_mac, learning, logger)

    def take_episode(self, info: Mapping[str, Any]) -> None:
        for group in self.learning if self._playing else ():
            for opponent in {*self._playing.values()}:
                self._rates.add(group, opponent, won(group, self._playing, info))

    def state_dict(self) -> dict[str, Any]:
        own = {"rates": self._rates.state_dict(), "first": self._first, "begun": self._begun}
        return {**super().state_dict(), **own}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._rates.load_state_dict(state["rates"])
        self._first, self._begun = state["first"], state["begun"]

    def _made_pool(self) -> LeaguePool:
        args = self._args
        rules = Matchmaking(self._player, self._role, args.opponent_hardness, args.league_self_play, args.league_checks)
        return LeaguePool(rules, args.opponent_interval, args.seed, self._rate, self._read)

    def _take_newest(self, t_env: int) -> None:
        if not self._joined:  # now, and not when a model is only played
            self._folder.join()
            self._joined = True
        if self._begun is None:
            self._begun = t_env
            if BEGINS_AGAIN[self._role]:
                self._first = {name: self._state_of(name) for name in self._learners}
        if not self._pool.due(t_env):
            return
        if self._role == MAIN:
            self._freeze(t_env)
        elif self._exploits(t_env - self._begun):
            self._freeze(t_env)
            self._begun = t_env
            if self._pool.random.random() < BEGINS_AGAIN[self._role]:
                self._begin_again(t_env)
        before = {player: name for name, player in self._pool.ranks().items()}
        self._pool.look(t_env, self._folder.copies(t_env))
        self._rates.keep(self._pool.opponents(""))
        if self._ratings is not None:
            for name, player in self._pool.ranks().items():
                if before.get(player, name) != name:
                    self._ratings.follow(before[player], name)
            self._ratings.keep(self._pool.tested)

    def _freeze(self, t_env: int) -> None:
        macs = {team: self._mac.teams[team].mac for team in self._teams}
        beaten = {each.name: self._mean_rate(each.name) for each in self._pool.copies if self._episodes(each.name) > 0}
        self._folder.add(t_env, SavedTeams(macs), beaten)

    def _exploits(self, steps: int) -> bool:
        """Whether an exploiter is done, that many steps after it began."""
        args = self._args
        if steps >= args.league_reset_steps:
            return True
        copies = self._pool.copies
        mains = [each for each in newest_of(copies, MAIN).values() if each is not None]
        targets = [each.name for each in (mains if self._role == MAIN_EXPLOITER else copies)]
        # no more than half of what such a memory can hold
        enough = min(ENOUGH, 0.5 / max(1 - args.opponent_memory, 1e-9))
        return bool(targets) and all(
            self._episodes(name) >= enough and self._mean_rate(name) >= args.league_win_rate for name in targets
        )

    def _begin_again(self, t_env: int) -> None:
        for name, learner in self._learners.items():
            optimisers = getattr(learner, "optimisers", {})
            rates = {key: [group["lr"] for group in each.param_groups] for key, each in optimisers.items()}
            load_state(learner, copy.deepcopy(self._first[name]), f"the learner {name}")
            # those of a schedule, or changed while the run is under way, stay
            for key, each in optimisers.items():
                for group, rate in zip(each.param_groups, rates[key], strict=True):
                    group["lr"] = rate
        if self._acting is not self._mac:
            self._acting.load_state(self._mac)
        self._rates.load_state_dict({})
        self._logger.console_logger.info(f"League: {self._player} is frozen at step {t_env}, and begins again.")

    def _state_of(self, name: str) -> Any:
        return copy.deepcopy(state_of(self._learners[name], self._known[name]))

    def _rate(self, group: str, name: str) -> float:
        """At which a group beats a copy; of one that a main player never met, what that says of its own past."""
        if self._role == MAIN and self._rates.episodes(group, name) == 0:
            beaten: Mapping[str, float] = next((each.beaten for each in self._pool.copies if each.name == name), {})
            met = [own for own in self._pool.past if own in beaten]
            if met:
                return 1 - beaten[met[-1]]
        return self._rates.of(group, name)

    def _mean_rate(self, name: str) -> float:
        """Over the groups that have met a copy."""
        met = [group for group in self._sides if self._rates.episodes(group, name) > 0]
        return sum(self._rates.of(group, name) for group in met) / max(len(met), 1)

    def _episodes(self, name: str) -> float:
        return sum(self._rates.episodes(group, name) for group in self._sides)

    def _read(self, name: str) -> Weights:
        found: Weights = {}
        for team, (group, *_) in self._teams.items():
            folder = self._folder.model(name, team)
            self._stand_ins[group].load_models(str(folder))
            require_finite(self._stand_ins[group], folder)
            found[team] = self._weights(team, self._stand_ins[group])
        return found

    def _tested(self, group: str, opponent: str, win: float) -> None:
        self._rates.add(group, opponent, win)
