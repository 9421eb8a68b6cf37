"""The checks of every step, on every source of environments."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.contract.fields import OBSERVED, EnvSpec
from envs.contract.validation import FIRST_MOMENTS, NUMBERS, InvalidEnvironmentError, problem_of_mask
from utils.errors import MusterError
from vector_envs.contract import StepOutcome


class StepChecks:
    """Checks B environments and the actions chosen for them.

    The first steps get thorough checks. After them, a step costs one check of the legality of each chosen action,
    which finds an agent without legal actions as well, and one at the length of the episodes.

    Args:
        spec: the environments' declaration.
        size: B.
        first: the number of the first one in messages.
    """

    def __init__(self, spec: EnvSpec, size: int, first: int = 0):
        self._spec, self._size, self._first = spec, size, first
        self._limit = spec.episode_limit
        masks = {field.of: path for path, field in spec.of_kind("mask").items() if field.of}
        # of each categorical action: the field of its legal choices, or None, and their number
        self._choices = {
            path: _Choices(masks.get(path), spec.array_shape(path, size), field.n)
            for path, field in spec.of_kind("action").items()
            if field.n is not None  # categorical
        }
        self._masks = {path: spec.array_shape(path, size) for path in masks.values()}
        self._moments = 0

    def observed(self, observed: Mapping[str, np.ndarray], rows: np.ndarray, steps: int | np.ndarray) -> None:
        """Check the observations: thoroughly in the first steps, then that masks have their shape.

        Args:
            observed: as `VectorEnv.observed` returns it.
            rows: the environments that play.
            steps: the lengths of their episodes so far, for all or for each of `rows`.

        Raises:
            InvalidEnvironmentError: arrays of other shapes or types than were announced, or an agent with no legal
                action.
        """
        if self._moments >= FIRST_MOMENTS:
            for path, shape in self._masks.items():
                if getattr(observed.get(path), "shape", None) != shape:
                    self._require_array(path, observed.get(path), shape, NUMBERS)
            return
        self._moments += 1
        for path in self._spec.of_kind(*OBSERVED):
            self._require_array(path, observed.get(path), self._spec.array_shape(path, self._size), NUMBERS)
        self._require_masks(observed, rows, steps)

    def chosen(
        self,
        observed: Mapping[str, np.ndarray],
        actions: Mapping[str, np.ndarray],
        rows: np.ndarray,
        steps: int | np.ndarray,
    ) -> None:
        """Refuse illegal actions.

        Args:
            observed: of all environments, as `VectorEnv.observed` returns it.
            actions: of the environments `rows`, by path; of a categorical one int64 `[len(rows), n]`.
            steps: as in `observed`.

        Raises:
            InvalidEnvironmentError: an agent has no legal action, or its legal actions are not marked by 0 and 1.
            MusterError: the controller has chosen an illegal one.
        """
        for path, choices in self._choices.items():
            mask = observed[choices.mask] if choices.mask is not None else None
            if choices.all_legal(mask, actions[path], rows):
                continue
            self._require_masks(observed, rows, steps)
            row, agent, legal = choices.first_illegal(mask, actions[path], rows)
            choice = f"{'action' if path == 'actions' else path} {actions[path][row, agent]}"
            raise MusterError(
                f"{self._where(rows, steps, row)}: the controller chose {choice} for agent {agent}, which is not "
                f"legal; legal are {legal}. An action selector chooses where avail_actions is 1."
            )

    def undecided(self, observed: Mapping[str, np.ndarray], rows: np.ndarray, steps: int | np.ndarray) -> None:
        """After an error in the controller: check that every agent had a legal action.

        Raises:
            InvalidEnvironmentError: one had none.
        """
        self._require_masks(observed, rows, steps)

    def stepped(self, outcome: StepOutcome, rows: np.ndarray, lengths: np.ndarray) -> None:
        """Refuse episodes that do not end in time, and in the first steps also invalid outcomes.

        Args:
            outcome: as `VectorEnv.step` returned it.
            rows: the environments that played this step.
            lengths: steps of the episodes of all environments, this one included, int64 `[B]`.

        Raises:
            InvalidEnvironmentError: an episode should have ended, or an array has another shape or type.
        """
        if self._moments < FIRST_MOMENTS:
            for path in self._spec.of_kind("outcome"):
                shape = self._spec.array_shape(path, self._size)
                self._require_array(path, outcome.values.get(path), shape, NUMBERS)
            for end in ("terminated", "truncated"):
                self._require_array(end, getattr(outcome, end), (self._size,), "b")
        if not np.count_nonzero(lengths >= self._limit):
            return
        ended = outcome.terminated | outcome.truncated | outcome.lost
        late = rows[(lengths[rows] >= self._limit) & ~ended[rows]]
        if len(late):
            raise InvalidEnvironmentError(
                f"Environment {self._first + late[0]}, step {lengths[late[0]]}: the episode has not ended, although "
                f"the environment announces episode_limit={self._limit}. The last step must return terminated=True, "
                'with info["episode_limit"] = True if time is all that ended it.'
            )

    def _require_array(self, path: str, value: Any, shape: tuple[int, ...], kinds: str) -> None:
        if not isinstance(value, np.ndarray) or value.shape != shape or value.dtype.kind not in kinds:
            found = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
            wanted = "plain numbers" if kinds == NUMBERS else "bool"
            raise InvalidEnvironmentError(
                f"The environments' {path} is {found}; as announced it should be an array of {wanted} of the shape "
                f"{shape}."
            )

    def _require_masks(self, observed: Mapping[str, np.ndarray], rows: np.ndarray, steps: int | np.ndarray) -> None:
        for path in self._masks:
            if problem_of_mask(observed[path] if len(rows) == self._size else observed[path][rows]) is None:
                continue
            name = "get_avail_actions()" if path == "avail_actions" else path
            for k, row in enumerate(rows.tolist()):
                if problem := problem_of_mask(observed[path][row], name):
                    raise InvalidEnvironmentError(f"{self._where(rows, steps, k)}: {problem}.")

    def _where(self, rows: np.ndarray, steps: int | np.ndarray, k: int) -> str:
        step = steps if isinstance(steps, int) else steps[k]
        return f"Environment {self._first + rows[k]}, {f'after step {step}' if step else 'after reset()'}"


class _Choices:
    """The legality of one categorical action, for all agents of B environments.

    Args:
        mask: the field that marks the legal ones; None: all are legal.
        shape: of the actions, `[B, n]`.
        n: the number of choices.
    """

    def __init__(self, mask: str | None, shape: tuple[int, ...], n: int):
        self.mask, self._n = mask, n
        # the first entry of each agent in the flat mask of all
        self._begin = np.arange(shape[0] * shape[1]).reshape(shape) * n
        self._unsigned_n = np.uint64(n)

    def all_legal(self, mask: np.ndarray | None, actions: np.ndarray, rows: np.ndarray) -> bool:
        # count_nonzero takes a tenth of the time of all(); as unsigned, a negative number is a very large one
        if np.count_nonzero(actions.view(np.uint64) >= self._unsigned_n):
            return False
        if mask is None:
            return True
        taken = self._taken(mask, actions, rows)
        return np.count_nonzero(taken == 1) == taken.size

    def first_illegal(self, mask: np.ndarray | None, actions: np.ndarray, rows: np.ndarray) -> tuple[int, int, list]:
        """The place of the first illegal action among those chosen, and the agent's legal ones."""
        illegal = (actions < 0) | (actions >= self._n)
        if mask is not None:
            illegal |= self._taken(mask, actions, rows) != 1
        row, agent = np.argwhere(illegal)[0].tolist()
        legal = range(self._n) if mask is None else np.flatnonzero(mask[rows[row], agent]).tolist()
        return row, agent, list(legal)

    def _taken(self, mask: np.ndarray, actions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        begin = self._begin if len(rows) == len(self._begin) else self._begin[rows]
        return mask.reshape(-1).take(begin + actions, mode="clip")
