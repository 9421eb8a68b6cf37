"""Many copies of an environment of entities, stepped by one call (`vector_envs.contract.BatchedEnv`)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from envs.contract.fields import FieldSpec, declared_spec
from envs.contract.seeds import copies_seeds
from envs.contract.validation import InvalidEnvironmentError, moment
from envs.entities.acting import Offered, actions_of, offered_in, restored, saved
from envs.entities.copies import Copy
from envs.entities.encoding import Encoder
from envs.entities.environment import Environment
from envs.entities.layout import Layout
from envs.entities.numbering import ObservationError
from envs.entities.observation import Observation
from envs.entities.picture import snapshot
from envs.entities.reading import metrics
from envs.entities.sizes import Sizes, layout_of
from envs.entities.vectorised import vectorised
from utils.errors import MusterError
from utils.meanings import Meaning
from utils.plain_values import quoted

# the most steps of an episode, and those where the environment does not say how many there are
LARGEST_LIMIT, EPISODE_LIMIT = 10**6, 1000


class EntityBatch:
    """`batch_size` copies of `EntityEnv`, with a row each in all arrays; the other arguments as there.

    Args:
        seed: one for each copy, or one for all (`envs.contract.seeds.copies_seeds`); None: a random one.

    Raises:
        ConfigError: there is no such environment, or it cannot be made of these arguments.
        MusterError: its spaces are invalid.
    """

    state_by_copy = True

    def __init__(
        self,
        batch_size: int,
        environment: str,
        kwargs: Mapping[str, Any] | None = None,
        episode_limit: int = 0,
        max_entities: Sizes = None,
        max_actors: Sizes = None,
        seed: int | Sequence[int] | None = None,
    ):
        seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        self._copies = [Copy(environment, kwargs, one) for one in copies_seeds(seed, batch_size)]
        first = self._copies[0]
        # another one is made, and asked, with random numbers of its own, which are the same in every process
        self.layout = layout_of(first.env, max_entities, max_actors, lambda: Copy(environment, kwargs, 0))
        self.groups = self.layout.groups
        self.episode_limit = episode_limit or _own_limit(first.env) or EPISODE_LIMIT
        self._encoder = Encoder(declared_spec(self), self.layout, batch_size)
        self._vectorised = vectorised(self._copies, self.layout, self._encoder.arrays)
        # of copies that play one after the other
        self._observations = [Observation.empty()] * batch_size
        # of copies that were restored, whose observations are gone
        self._offered: list[Offered | None] = [None] * batch_size
        self._steps = np.zeros(batch_size, np.int64)
        self._playing = np.zeros(batch_size, bool)
        self._infos: list[dict[str, Any]] = [{} for _ in range(batch_size)]
        self._rewards = np.zeros(batch_size)
        self._shares = ChoiceShares(self.layout, batch_size)

    def fields(self) -> dict[str, FieldSpec]:
        return self.layout.fields()

    def meaning(self) -> Meaning:
        return self.layout.meaning()

    def seed(self, seeds: Sequence[int]) -> None:
        """Reseed the random numbers of all copies."""
        for copy, seed in zip(self._copies, seeds, strict=True):
            copy.seed(seed)

    def reset(self, which: np.ndarray | None = None) -> None:
        """Start an episode in the copies `which` (bool `[B]`; None: all)."""
        rows = np.arange(len(self._copies)) if which is None else np.flatnonzero(which)
        if not len(rows):
            return
        for row in rows.tolist():
            copy = self._copies[row]
            with copy.alone:
                self._observations[row] = copy.env.reset()
        self._steps[rows], self._playing[rows] = 0, True
        self._shares.begin(rows)
        if self._vectorised is not None:
            self._vectorised.take(rows)
            self._vectorised.write(rows)
            return
        self._encode(rows)
        for row in rows.tolist():
            if self._observations[row].done or self._observations[row].truncated:
                raise self._fault(row, "an episode begins with its end")

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
        """Let the actors of all copies that play act.

        Returns:
            reward float64 `[B]`; bool `[B]`, terminated, and truncated.
        """
        rows, chosen = np.flatnonzero(self._playing), actions["actions"]
        self._shares.take(rows, self._encoder.arrays["acts"][rows], chosen[rows])
        terminated, truncated = np.zeros(len(self._copies), bool), np.zeros(len(self._copies), bool)
        self._steps[rows] += 1
        if self._vectorised is None:
            self._act(rows, chosen, terminated, truncated)
        else:
            self._rewards[rows], terminated[rows], truncated[rows] = self._vectorised.act(rows, chosen[rows])
            self._vectorised.write(rows)
            for row in rows.tolist():
                self._infos[row] = {}
        truncated[rows] |= (self._steps[rows] >= self.episode_limit) & ~terminated[rows]
        ended = terminated | truncated
        self._playing &= ~ended
        for row in np.flatnonzero(ended).tolist():
            self._infos[row] = {**self._infos[row], **self._shares.of(row)}
        return {"reward": self._rewards}, terminated, truncated

    def observed(self) -> dict[str, np.ndarray]:
        return self._encoder.arrays

    def info(self, b: int) -> dict[str, Any]:
        """Metrics of the last step and, at the end of an episode, how often each choice was taken in it."""
        return self._infos[b]

    def action_names(self) -> list[list[str]]:
        """See `MultiAgentEnv`: of each slot, the labels of its choices; of select-entity, the positions.

        Labels are behind the name of their action if there are several.
        """
        names: list[list[str]] = []
        for name, slots in self.layout.slots.items():
            count = self.layout.choices[name]
            labels = getattr(self.layout.action_space[name], "index_to_label", range(count))
            prefix = f"{name}: " if len(self.layout.slots) > 1 else ""
            names += [[f"{prefix}{label}" for label in labels]] * (slots.stop - slots.start)
        return names

    def snapshot(self) -> dict[str, Any]:
        return snapshot(self.layout, {path: array[0] for path, array in self._encoder.arrays.items()})

    def scene(self) -> dict[str, Any]:
        scene = self._copies[0].env.scene
        return scene() if callable(scene) else {}

    def state_dict(self) -> dict[str, Any]:
        """All copies, also during episodes. Raises NotImplementedError: an environment cannot be saved."""
        if self._vectorised is not None:
            self._vectorised.give_back(np.arange(len(self._copies)))
        offered = [
            saved(self._offered_by(row), copy.module) if playing else None
            for row, (copy, playing) in enumerate(zip(self._copies, self._playing, strict=True))
        ]
        return {
            "copies": [copy.state_dict() for copy in self._copies],
            "offered": offered,
            "arrays": {path: array.copy() for path, array in self._encoder.arrays.items()},
            "steps": self._steps.copy(),
            "playing": self._playing.copy(),
            "shares": self._shares.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for copy, kept in zip(self._copies, state["copies"], strict=True):
            copy.load_state_dict(kept)
        self._offered = [
            None if offered is None else restored(offered, copy.module)
            for copy, offered in zip(self._copies, state["offered"], strict=True)
        ]
        for path, array in self._encoder.arrays.items():
            array[...] = state["arrays"][path]
        self._steps[:], self._playing[:] = state["steps"], state["playing"]
        self._shares.load_state_dict(state["shares"])
        if self._vectorised is not None:
            self._vectorised.take(np.arange(len(self._copies)))

    def close(self) -> None:
        for copy in self._copies:
            copy.env.close()

    def _act(self, rows: np.ndarray, chosen: np.ndarray, terminated: np.ndarray, truncated: np.ndarray) -> None:
        """Let these copies act one after the other, and write what is seen, rewards, ends and infos."""
        first = {name: slots.start for name, slots in self.layout.slots.items()}
        for row in rows.tolist():
            copy, offered, numbers = self._copies[row], self._offered_by(row), chosen[row]
            of_each = {name: numbers[first[name] : first[name] + len(actors)] for name, (actors, _) in offered.items()}
            taken = actions_of(self.layout.action_space, offered, of_each)
            with copy.alone:
                self._observations[row] = copy.env.act(taken)
        self._encode(rows)
        for row in rows.tolist():
            seen = self._observations[row]
            self._rewards[row], terminated[row], truncated[row] = float(seen.reward), seen.done, seen.truncated
            self._infos[row] = self._metrics_of(row) if seen.metrics else {}

    def _offered_by(self, row: int) -> Offered:
        if (kept := self._offered[row]) is not None:
            return kept
        game: Any = self._copies[row].env
        observation = self._observations[row] if self._vectorised is None else game.observe()
        return offered_in(observation, self.layout.obs_space, self.layout.action_space)

    def _encode(self, rows: np.ndarray) -> None:
        """Write the present observations of these copies. Raises InvalidEnvironmentError: one is invalid."""
        for row in rows.tolist():
            self._offered[row] = None
        try:
            self._encoder.write(rows, [self._observations[row] for row in rows.tolist()])
        except ObservationError as error:
            raise self._fault(int(rows[error.row]), str(error)) from None

    def _metrics_of(self, row: int) -> dict[str, float]:
        try:
            return metrics(self._observations[row].metrics)
        except MusterError as error:
            raise self._fault(row, str(error)) from None

    def _fault(self, row: int, what: str) -> InvalidEnvironmentError:
        where = f"{type(self._copies[row].env).__name__}, {moment(self._steps[row])}"
        return InvalidEnvironmentError(f"{where}: {what.rstrip('.')}.")


class ChoiceShares:
    """Counts the labelled choices of B environments.

    Args:
        layout: of the environments.
        size: B.
    """

    def __init__(self, layout: Layout, size: int):
        self._labels = {
            name: space.index_to_label
            for name, space in layout.action_space.items()
            if hasattr(space, "index_to_label")
        }
        names = list(layout.action_space)
        self._rows = {name: names.index(name) for name in self._labels}
        # the action of each slot
        self._action = np.repeat(np.arange(len(names)), [slots.stop - slots.start for slots in layout.slots.values()])
        self._taken = np.zeros((size, len(names), layout.n_choices), np.int64)

    def begin(self, rows: np.ndarray) -> None:
        """Episodes begin in these environments, int64 `[k]`."""
        self._taken[rows] = 0

    def take(self, rows: np.ndarray, acts: np.ndarray, chosen: np.ndarray) -> None:
        """Count a step: of these environments, the slots that act and the choices of all, `[k, n]` each."""
        k, slots = acts.nonzero()
        np.add.at(self._taken, (rows[k], self._action[slots], chosen[k, slots]), 1)

    def of(self, row: int) -> dict[str, float]:
        """The share of each choice among those of its action: "choices/Move/Up"."""
        shares: dict[str, float] = {}
        for name, labels in self._labels.items():
            taken = self._taken[row, self._rows[name]]
            if total := int(taken.sum()):
                shares |= {f"choices/{name}/{label}": int(taken[k]) / total for k, label in enumerate(labels)}
        return shares

    def state_dict(self) -> dict[str, Any]:
        return {"taken": self._taken.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._taken[...] = state["taken"]


def _own_limit(env: Environment) -> int | None:
    """The steps of an episode that the environment declares."""
    limit = env.episode_limit
    if limit is None or (type(limit) is int and 1 <= limit <= LARGEST_LIMIT):
        return limit
    raise InvalidEnvironmentError(
        f"{type(env).__name__}.episode_limit is {quoted(limit)}: expected a whole number from 1 to {LARGEST_LIMIT}, "
        "or None."
    )
