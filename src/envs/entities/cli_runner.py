"""A person plays an environment of entities in the terminal: `entity_gym.runner`'s CliRunner."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from envs.entities.acting import actions_for
from envs.entities.actions import (
    Action,
    ActionSpace,
    CategoricalAction,
    GlobalCategoricalAction,
    GlobalCategoricalActionSpace,
    SelectEntityActionSpace,
)
from envs.entities.environment import Environment
from envs.entities.numbering import EntityNumbering, Offer, Seen
from envs.entities.observation import Observation, ObsSpace
from utils.console import fitted, terminal_width
from utils.nearest import suggestion
from utils.plain_values import counted, quoted

QUIT = ("q", "quit")
# the position of the choice, and the probabilities of all, if they are known
_Advice = tuple[int, Any]


class Agent(ABC):
    """One that advises the person."""

    @abstractmethod
    def act(self, obs: Observation) -> tuple[Mapping[str, Action], float | None]:
        """What it would do, with `probs` of all choices, and the return that it expects, if it does."""


class Recorder(Protocol):
    """One that keeps what the person plays."""

    def begin(self, observation: Observation) -> None:
        """An episode begins."""

    def add(self, chosen: Mapping[str, Sequence[int]], observation: Observation) -> None:
        """Of each action the positions of its actors' choices, and what they have led to."""

    def end(self) -> None:
        """The episode is over, or was broken off."""


class CliRunner:
    """Prints what there is, asks for each action, and checks what is typed.

    A choice is typed as its number, its label, or the beginning of its label; without anything, the agent's choice is
    taken, if there is an agent. `q`, Ctrl-C and the end of the input quit.

    Args:
        env: what is played; it is checked as in training.
        agent: whose probabilities, choices and expected return are shown.
        recorder: of each step.

    Raises:
        MusterError: the environment's spaces or an observation of it are invalid.
    """

    def __init__(self, env: Environment, agent: Agent | None = None, recorder: Recorder | None = None):
        self.env, self.agent, self.recorder = env, agent, recorder
        self._obs_space, self._action_space = env.obs_space(), env.action_space()
        self._numbering = EntityNumbering(self._obs_space, self._action_space)

    def run(self, restart: bool = False) -> None:
        """Play one episode, or one after another until the person quits."""
        _print(_spaces_text(type(self.env).__name__, self._obs_space, self._action_space))
        _print(f"Type a number or a label{', or Enter for what the policy chooses' if self.agent else ''}; q quits.")
        try:
            while True:
                try:
                    self._episode()
                finally:
                    if self.recorder is not None:
                        self.recorder.end()
                if not restart:
                    return
        except (_Quit, KeyboardInterrupt, EOFError):
            _print("\nquit")

    def _episode(self) -> None:
        observation = self.env.reset()
        if self.recorder is not None:
            self.recorder.begin(observation)
        seen, total, steps = self._numbering.seen(observation), 0.0, 0
        while not (seen.done or seen.truncated):
            advice, value = (None, None) if self.agent is None else self.agent.act(observation)
            expected = "" if value is None else f"  expected return {value:.4g}"
            _print(f"\nstep {steps}  reward {seen.reward:.4g}  return {total:.4g}{expected}")
            _print(_seen_text(seen, self._obs_space))
            chosen = self._choices(seen, advice)
            observation = self.env.act(actions_for(seen, self._action_space, chosen))
            if self.recorder is not None:
                self.recorder.add(chosen, observation)
            seen, steps = self._numbering.seen(observation), steps + 1
            total += seen.reward
        _print(f"\nstep {steps}  reward {seen.reward:.4g}  return {total:.4g}")
        _print(_seen_text(seen, self._obs_space))
        end = "The episode is over" if seen.done else "Time is up"
        _print(f"{end}: return {total:.4g} in {counted(steps, 'step')}.")

    def _choices(self, seen: Seen, advice: Mapping[str, Action] | None) -> dict[str, list[int]]:
        chosen: dict[str, list[int]] = {}
        for name, space in self._action_space.items():
            offer = seen.offers[name]
            advised = None if advice is None else _advised(advice.get(name), offer, seen)
            chosen[name] = [
                self._asked(name, space, offer, seen, i, None if advised is None else advised[i])
                for i in range(len(offer.actors))
            ]
        if not any(chosen.values()):
            _typed("There is nothing to choose. Enter continues: ")
        return chosen

    def _asked(self, name: str, space: ActionSpace, offer: Offer, seen: Seen, i: int, advised: _Advice | None) -> int:
        """The position of the choice that the i-th actor of an action gets."""
        choices, number = _choices_of(space, offer, seen), offer.actors[i]
        allowed = np.ones(len(choices), bool) if offer.mask is None else offer.mask[i]
        actor = "" if isinstance(space, GlobalCategoricalActionSpace) else f"{number} {seen.roster.types[number]}"
        _print(_question(name, actor, choices, allowed, None if advised is None else advised[1]))
        default = None if advised is None else next(n for n, (_, place) in choices.items() if place == advised[0])
        while True:
            typed = _typed("> " if default is None else f"[{default}] > ")
            if not typed and default is not None:
                return choices[default][1]
            found = _chosen(typed, choices, allowed)
            if isinstance(found, int):
                return found
            _print(found)


class _Quit(Exception):
    """The person does not want to play on."""


def _chosen(typed: str, choices: Mapping[int, tuple[str, int]], allowed: np.ndarray) -> int | str:
    """The position of what was typed, or a message."""
    legal = {number: label for number, (label, place) in choices.items() if allowed[place]}
    listed = ", ".join(str(number) for number in legal)
    if not typed:
        return f"Type a choice: {listed}."
    if (number := _number(typed)) is not None:
        if number in legal:
            return choices[number][1]
        if number in choices:
            return f"{number} {choices[number][0]} is not possible now. Choices: {listed}."
        return f"There is no choice {quoted(typed, 30)}. Choices: {listed}."
    wanted = typed.casefold()
    exact = [number for number, label in legal.items() if label.casefold() == wanted]
    alike = exact or [number for number, label in legal.items() if label.casefold().startswith(wanted)]
    if len(alike) == 1:
        return choices[alike[0]][1]
    if alike:
        return f"'{quoted(typed, 30)}' can be {', '.join(map(str, alike))}: type the number."
    return f"There is no choice '{quoted(typed, 30)}'.{suggestion(typed, dict.fromkeys(legal.values()))}"


def _number(typed: str) -> int | None:
    try:
        return int(typed[:20])
    except ValueError:
        return None


def _advised(action: Action | None, offer: Offer, seen: Seen) -> list[_Advice] | None:
    """Of each actor of the offer, in its order, what the agent chose."""
    if action is None or not len(offer.actors):
        return None
    if isinstance(action, GlobalCategoricalAction):
        return [(int(action.index), action.probs)]
    ids, of = seen.roster.ids, {identity: i for i, identity in enumerate(action.actors)}
    rows = [of[ids[actor]] for actor in offer.actors]
    if isinstance(action, CategoricalAction):
        places = [int(action.indices[row]) for row in rows]
    else:
        actees = {ids[actee]: place for place, actee in enumerate(() if offer.actees is None else offer.actees)}
        places = [actees[action.actees[row]] for row in rows]
    return [
        (place, None if action.probs is None else action.probs[row]) for place, row in zip(places, rows, strict=True)
    ]


def _typed(prompt: str) -> str:
    typed = input(prompt).strip()
    if typed.casefold() in QUIT:
        raise _Quit
    return typed


def _print(text: str) -> None:
    if text:
        print(fitted(text, terminal_width(sys.stdout)), flush=True)


def _spaces_text(name: str, obs_space: ObsSpace, action_space: Mapping[str, ActionSpace]) -> str:
    """What can be seen and done, a line each."""
    lines = [name]
    if obs_space.global_features:
        lines.append(f"  global features: {', '.join(obs_space.global_features)}")
    lines += [f"  {kind}: {', '.join(entity.features) or 'no features'}" for kind, entity in obs_space.entities.items()]
    for action, space in action_space.items():
        if isinstance(space, SelectEntityActionSpace):
            lines.append(f"  action {action}: select an entity")
        else:
            whose = " (one for all)" if isinstance(space, GlobalCategoricalActionSpace) else ""
            lines.append(f"  action {action}{whose}: {', '.join(space.index_to_label)}")
    return "\n".join(lines)


def _seen_text(seen: Seen, obs_space: ObsSpace) -> str:
    """Global features, and a line for each entity: its number, type, features, and id if it has one of its own."""
    lines = []
    if obs_space.global_features:
        lines.append(_features(obs_space.global_features, seen.global_features))
    width = max((len(kind) for kind in seen.roster.types), default=0)
    number = 0
    for kind, rows in seen.features.items():
        for i, row in enumerate(rows):
            identity = seen.roster.ids[number]
            notes = [] if identity == (kind, i) else [f"id {identity}"]
            if kind in seen.visible and not seen.visible[kind][i]:
                notes.append("hidden from the policy")
            note = f"({', '.join(notes)})" if notes else ""
            parts = [f"{number:>4} {kind:<{width}}", _features(obs_space.entities[kind].features, row), note]
            lines.append("  ".join(part for part in parts if part).rstrip())
            number += 1
    return "\n".join(lines)


def _choices_of(space: ActionSpace, offer: Offer, seen: Seen) -> dict[int, tuple[str, int]]:
    """What may be typed, a number, with its label and the position among the choices.

    The number is that of a label or, of select-entity, of the entity.
    """
    if not isinstance(space, SelectEntityActionSpace):
        return {i: (label, i) for i, label in enumerate(space.index_to_label)}
    actees = () if offer.actees is None else offer.actees
    return {int(number): (seen.roster.types[number], i) for i, number in enumerate(actees)}


def _question(
    action: str,
    actor: str,
    choices: Mapping[int, tuple[str, int]],
    allowed: np.ndarray,
    probs: Sequence[float] | None,
) -> str:
    """The action, who takes it, and the allowed choices, with probabilities if there are."""
    shares = [""] * len(allowed) if probs is None else [f" {100 * share:.1f}%" for share in probs]
    listed = [f"{number} {label}{shares[i]}" for number, (label, i) in choices.items() if allowed[i]]
    return f"{action}{f' of {actor}' if actor else ''}: {', '.join(listed)}"


def _features(names: Sequence[str], values: Any) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in zip(names, values, strict=True))
