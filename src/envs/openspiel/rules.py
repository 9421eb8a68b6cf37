"""A game of OpenSpiel as its players see it: what they see, may do and earn."""

from typing import Any

import numpy as np

from envs.contract.arguments import require_choice
from envs.contract.fields import AGENTS
from envs.contract.optional import require
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

INSTALL = "pip install -r requirements-openspiel.txt"
# what players see: the tensors that OpenSpiel makes of it; auto: the first that the game has
AUTO, INFORMATION, OBSERVATION = OBSERVATIONS = ("auto", "information_state", "observation")
# of one game
MOST_PLAYERS, MOST_ACTIONS, MOST_NUMBERS, MOST_STEPS = 16, 10**5, 10**6, 10**5


class Rules:
    """A game, played in steps: in each, the player whose turn it is acts, or all do where they move at once.

    Attributes:
        game: of pyspiel.
        players, actions, size: numbers of players, of actions of each, and of what each sees.
        groups: names of groups of players -> sizes: one for each player, or one for all if they share their reward.
        longest: the most steps of an episode.

    Args:
        name: OpenSpiel's, with parameters in parentheses.
        observation: one of `OBSERVATIONS`.

    Raises:
        ConfigError: there is no such game, or it cannot be played here.
    """

    def __init__(self, name: str, observation: str = AUTO):
        if not isinstance(name, str) or not name:
            raise ConfigError("env_args.game is missing: it names a game of OpenSpiel, such as kuhn_poker.")
        require_choice("env_args.observation", observation, OBSERVATIONS)
        self._spiel = spiel = require("pyspiel", "env=openspiel", INSTALL)
        self._where = f"env_args.game={quoted(name)}"
        known = spiel.registered_names()
        if (word := name.partition("(")[0].strip()) not in known:  # pyspiel would print them all
            raise ConfigError(f"{self._where}: OpenSpiel has no game '{quoted(word)}'.{suggestion(word, known)}")
        try:
            self.game = spiel.load_game(name)
        except Exception as error:
            raise ConfigError(f"{self._where}: {quoted(str(error), 300)}") from None
        kind = self.game.get_type()
        self._require_playable(kind)
        self.players, self.actions = self.game.num_players(), self.game.num_distinct_actions()
        self.longest = self.game.max_game_length()
        self._by_information = self._seen_by(kind, observation) == INFORMATION
        asked = self.game.information_state_tensor_size if self._by_information else self.game.observation_tensor_size
        self.size = asked()
        bounds = {"players": MOST_PLAYERS, "actions": MOST_ACTIONS, "size": MOST_NUMBERS, "longest": MOST_STEPS}
        words = {"players": "players", "actions": "actions", "size": "numbers that a player sees", "longest": "moves"}
        for key, most in bounds.items():
            if getattr(self, key) > most:
                raise ConfigError(f"{self._where} has {getattr(self, key):,} {words[key]}; at most {most:,} can be.")
        self.together = kind.utility == spiel.GameType.Utility.IDENTICAL or self.players == 1
        names = [f"player_{p}" for p in range(self.players)]
        self.groups = {AGENTS: self.players} if self.together else dict.fromkeys(names, 1)

    def _require_playable(self, kind: Any) -> None:
        types = self._spiel.GameType
        if kind.dynamics not in (types.Dynamics.SEQUENTIAL, types.Dynamics.SIMULTANEOUS):
            raise ConfigError(f"{self._where} is a mean-field game, which has no single players.")
        if kind.chance_mode == types.ChanceMode.SAMPLED_STOCHASTIC:
            raise ConfigError(f"{self._where} draws its chance by itself, so that no seed repeats a run.")

    def _seen_by(self, kind: Any, observation: str) -> str:
        offered = {
            INFORMATION: kind.provides_information_state_tensor,
            OBSERVATION: kind.provides_observation_tensor,
        }
        found = [name for name, there in offered.items() if there and observation in (AUTO, name)]
        if not found:
            others = [name for name, there in offered.items() if there]
            hint = f" It has env_args.observation={others[0]}." if others else ""
            raise ConfigError(f"{self._where} has no tensor of what its players see ({observation}).{hint}")
        return found[0]

    def seen(self, state: Any, player: int) -> np.ndarray:
        """What a player sees, float32 `[size]`; at the end of a game zeros."""
        if state.is_terminal():
            return np.zeros(self.size, dtype=np.float32)
        tensor = state.information_state_tensor if self._by_information else state.observation_tensor
        return np.asarray(tensor(player), dtype=np.float32)

    def legal(self, state: Any, player: int) -> np.ndarray:
        """The player's legal actions, uint8 `[actions]`; who waits can only do action 0, which is not carried out."""
        legal = np.zeros(self.actions, dtype=np.uint8)
        legal[state.legal_actions(player) if self.acts(state, player) else 0] = 1
        return legal

    def acts(self, state: Any, player: int) -> bool:
        """Whether the player's action will be carried out."""
        if state.is_terminal():
            return False
        if state.is_simultaneous_node():
            return bool(state.legal_actions(player))
        return state.current_player() == player

    def act(self, state: Any, actions: np.ndarray) -> None:
        """Carry out the actions `[players]` of those who act."""
        if state.is_simultaneous_node():
            state.apply_actions([int(action) for action in actions])
        else:
            state.apply_action(int(actions[state.current_player()]))

    def draw_chance(self, state: Any, generator: np.random.Generator) -> None:
        """Draw what chance decides, until a player acts or the game is over."""
        while state.is_chance_node():
            outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
            weights = np.asarray(probabilities)
            state.apply_action(outcomes[generator.choice(len(outcomes), p=weights / weights.sum())])
