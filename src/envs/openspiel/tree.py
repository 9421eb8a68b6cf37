"""The tree of a small game of OpenSpiel: all ways to play it, average policies and their exact exploitability."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from envs.openspiel.environment import observed
from envs.openspiel.rules import AUTO, Rules

# numbers in the observations of all ways to play
MOST_NUMBERS = 5 * 10**7
# of each information state: the probabilities of all actions `[actions]`
Policy = Mapping[str, np.ndarray]


@dataclass
class _Way:
    """One way to play: what was seen and may be done in each step, what was done, and who decided what.

    `decisions`: (step, player, information state, action) of the decisions that were made.
    """

    seen: list[dict[str, np.ndarray]] = field(default_factory=list)
    actions: list[np.ndarray] = field(default_factory=list)
    decisions: list[tuple[int, int, str, int]] = field(default_factory=list)


class Tree:
    """All ways to play a game, as episodes of its environment.

    Attributes:
        values: path of a field -> array `[ways, steps, ...]`, zeros after the end of a way.
        actions: int64 `[ways, steps, players]`.
        decisions: (way, step, player, information state) of the decisions of all ways.
        earlier: information state -> the decisions of its player before, as (information state, action).
    """

    def __init__(self, rules: Rules, spiel: Any, ways: Sequence[_Way], game: Any):
        self._spiel, self._game, self.rules = spiel, game, rules
        steps = max(len(way.actions) for way in ways)
        self.values = {
            path: np.zeros((len(ways), steps, *value.shape), value.dtype) for path, value in ways[0].seen[0].items()
        }
        for path in self.values:
            if path.endswith("avail_actions"):  # whose game is over has something to do, too
                for w, way in enumerate(ways):
                    self.values[path][w, len(way.actions) :, ..., 0] = 1
        self.actions = np.zeros((len(ways), steps, rules.players), dtype=np.int64)
        self.decisions: list[tuple[int, int, int, str]] = []
        self.earlier: dict[str, list[tuple[str, int]]] = {}
        self._legal: dict[str, list[int]] = {}
        for w, way in enumerate(ways):
            for t, seen in enumerate(way.seen):
                for path, value in seen.items():
                    self.values[path][w, t] = value
                self.actions[w, t] = way.actions[t]
            own: dict[int, list[tuple[str, int]]] = {p: [] for p in range(rules.players)}
            for t, player, state, action in way.decisions:
                self.decisions.append((w, t, player, state))
                self.earlier.setdefault(state, list(own[player]))
                self._legal.setdefault(state, np.flatnonzero(self._mask(player)[w, t]).tolist())
                own[player].append((state, action))

    def _mask(self, player: int) -> np.ndarray:
        """The player's legal actions, `[ways, steps, actions]`."""
        return self.values[f"player_{player}/avail_actions"][:, :, 0]

    def policy(self, probabilities: np.ndarray) -> dict[str, np.ndarray]:
        """The policy of what a controller says in each step of each way.

        Args:
            probabilities: `[ways, steps, players, actions]`. Of ways that lead to the same information state, in which
                a memory may differ, the mean.
        """
        sums: dict[str, np.ndarray] = {}
        counts: dict[str, int] = {}
        for w, t, player, state in self.decisions:
            sums[state] = sums.get(state, 0.0) + probabilities[w, t, player].astype(np.float64)
            counts[state] = counts.get(state, 0) + 1
        return {state: total / total.sum() for state, total in sums.items()}

    def average(self, policies: Sequence[Policy]) -> dict[str, np.ndarray]:
        """The policy that plays as one of these, drawn evenly before each game.

        In an information state each counts by how likely its player comes there by its own actions (Heinrich, Lanctot
        and Silver 2015, fictitious self-play, theorem 3). Where none comes, all count alike.
        """
        found = {}
        for state in self.earlier:
            weights = np.array([self._reach(policy, state) for policy in policies])
            weights = weights if weights.sum() > 0 else np.ones(len(policies))
            mixed = sum(weight * policy[state] for weight, policy in zip(weights, policies, strict=True))
            found[state] = mixed / weights.sum()
        return found

    def _reach(self, policy: Policy, state: str) -> float:
        return float(np.prod([policy[before][action] for before, action in self.earlier[state]]))

    def exploitability(self, policy: Policy) -> float:
        """How much a player gains in the mean by answering the others with the best: NashConv / players.

        In a game of two players whose gains sum up to 0, OpenSpiel calls the same exploitability; 0 is an equilibrium.
        """
        table = {
            state: [(action, float(probabilities[action])) for action in self._legal[state]]
            for state, probabilities in policy.items()
        }
        return float(self._spiel.nash_conv(self._game, table)) / self.rules.players


def tree_of(
    game: str = "kuhn_poker",
    observation: str = AUTO,
    time_limit: int | None = None,
    exploitability: int = 10000,
    seed: int | None = None,
) -> Tree | None:
    """The tree of the game of an `OpenSpiel` with these arguments.

    None: the game has more states than `exploitability` allows, players share their reward, or time may be up before
    it ends.
    """
    import pyspiel

    rules, most = Rules(game, observation), exploitability
    if not most or rules.together or (time_limit is not None and time_limit < rules.longest):
        return None
    at_once = rules.game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
    in_turn = pyspiel.convert_to_turn_based(rules.game) if at_once else rules.game
    ways: list[_Way] = []
    states = numbers = 0
    for way in _walk(rules, rules.game.new_initial_state(), in_turn.new_initial_state(), _Way()):
        states += 1
        if way is None:
            if states > most:
                return None
            continue
        ways.append(way)
        numbers += len(way.seen) * rules.players * (rules.size + rules.actions)
        if numbers > MOST_NUMBERS:
            return None
    return Tree(rules, pyspiel, ways, in_turn)


def _walk(rules: Rules, state: Any, turns: Any, way: _Way) -> Iterator[_Way | None]:
    """All ways to play on from a state; for each other state None.

    Args:
        turns: the same state of the game in which all act one after another.
    """
    if state.is_terminal():
        yield way
        return
    yield None
    if state.is_chance_node():
        for outcome, _ in state.chance_outcomes():
            yield from _walk(rules, state.child(outcome), turns.child(outcome), way)
        return
    yield from _decide(rules, state, turns, way, np.zeros(rules.players, dtype=np.int64), [])


def _decide(
    rules: Rules, state: Any, turns: Any, way: _Way, actions: np.ndarray, made: list[tuple[int, int, str, int]]
) -> Iterator[_Way | None]:
    """All joint actions in a state, one player after another."""
    waiting = [p for p in range(rules.players) if rules.acts(state, p) and p not in [player for _, player, *_ in made]]
    if not waiting:
        after = state.clone()
        rules.act(after, actions)
        seen, step = observed(rules, state), [actions.copy()]
        yield from _walk(rules, after, turns, _Way([*way.seen, seen], way.actions + step, way.decisions + made))
        return
    player = turns.current_player()
    for action in turns.legal_actions():
        chosen = actions.copy()
        chosen[player] = action
        decision = (len(way.actions), player, turns.information_state_string(player), action)
        yield from _decide(rules, state, turns.child(action), way, chosen, [*made, decision])
