"""What every step is checked for, whatever environments it is of and however they are reached."""

from typing import Any

import numpy as np

from envs.sizes import step_layout
from envs.validation import FIRST_MOMENTS, NUMBERS, InvalidEnvironmentError, problem_of_mask
from utils.errors import MusterError
from vector_envs.contract import BatchedEnv


class StepChecks:
    """Checks B environments of n agents each, and the actions that are chosen for them.

    The first moments are looked at closely. After them, a step costs one look at the legality of each chosen action,
    which finds an agent without legal actions as well, and one at the length of the episodes.

    Args:
        env: the environments.
        size: B.
    """

    def __init__(self, env: BatchedEnv, size: int):
        env_info = env.get_env_info()
        self._layout = step_layout(env_info, size)
        self._limit = int(env_info["episode_limit"])
        _, n_agents, n_actions = self._layout["avail_actions"][0]
        # where the entries of each agent begin in the legal actions of all
        self._begin = np.arange(size * n_agents).reshape(size, n_agents) * n_actions
        self._n_actions = np.uint64(n_actions)
        self._moments = 0

    def observed(self, observed: dict[str, np.ndarray], rows: np.ndarray, steps: int | np.ndarray) -> None:
        """Look closely at what the environments show, unless that has been done often enough.

        Args:
            observed: as `BatchedEnv.observed` returns it.
            rows: the environments that play.
            steps: how many steps their episodes have had, for all or for each of `rows`.

        Raises:
            InvalidEnvironmentError: arrays of other shapes or types than `get_env_info()` announces, or an agent with
                no legal action.
        """
        if self._moments >= FIRST_MOMENTS:
            return
        self._moments += 1
        for key in ("obs", "state", "avail_actions"):
            self._require_array(key, observed.get(key), NUMBERS)
        self._require_masks(observed["avail_actions"], rows, steps)

    def chosen(self, avail_actions: np.ndarray, actions: np.ndarray, rows: np.ndarray, steps: int | np.ndarray) -> None:
        """Refuse illegal actions.

        Args:
            avail_actions: of all environments, `[B, n, A]`.
            actions: of the environments `rows`, int64 `[len(rows), n]`.
            steps: as in `observed`.

        Raises:
            InvalidEnvironmentError: an agent has no legal action, or its legal actions are not marked by 0 and 1.
            MusterError: the controller has chosen an illegal one.
        """
        begin = self._begin if len(rows) == len(self._begin) else self._begin[rows]
        taken = avail_actions.reshape(-1).take(begin + actions, mode="clip")
        # count_nonzero takes a tenth of the time of all(); seen as unsigned, a negative number is a very large one
        outside = np.count_nonzero(actions.view(np.uint64) >= self._n_actions)
        if not outside and np.count_nonzero(taken == 1) == taken.size:
            return
        self._require_masks(avail_actions, rows, steps)
        inside = (actions >= 0) & (actions < self._n_actions)
        row, agent = np.argwhere((taken != 1) | ~inside)[0].tolist()
        legal = np.flatnonzero(avail_actions[rows[row], agent]).tolist()
        raise MusterError(
            f"{_where(rows, steps, row)}: the controller chose action {actions[row, agent]} for agent {agent}, which "
            f"is not legal; legal are {legal}. An action selector chooses where avail_actions is 1."
        )

    def undecided(self, avail_actions: np.ndarray, rows: np.ndarray, steps: int | np.ndarray) -> None:
        """See whether a controller that raised could have chosen anything.

        Raises:
            InvalidEnvironmentError: it could not.
        """
        self._require_masks(avail_actions, rows, steps)

    def stepped(self, outcome: tuple[Any, Any, Any], rows: np.ndarray, lengths: np.ndarray) -> None:
        """Refuse episodes that do not end in time, and at first other things than a step returns.

        Args:
            outcome: reward, terminated and truncated, as `BatchedEnv.step` returns them.
            rows: the environments that played this step.
            lengths: steps of the episodes of all environments, this one included, int64 `[B]`.

        Raises:
            InvalidEnvironmentError: an episode should have ended, or arrays of other shapes or types.
        """
        if self._moments < FIRST_MOMENTS:
            for key, value, kinds in zip(
                ("reward", "terminated", "truncated"), outcome, (NUMBERS, "b", "b"), strict=True
            ):
                self._require_array(key, value, kinds)
        if not np.count_nonzero(lengths >= self._limit):
            return
        late = rows[(lengths[rows] >= self._limit) & ~outcome[1][rows]]
        if len(late):
            raise InvalidEnvironmentError(
                f"Environment {late[0]}, step {lengths[late[0]]}: the episode has not ended, although get_env_info() "
                f"announces episode_limit={self._limit}. The last step has to return terminated=True, with "
                'info["episode_limit"] = True if time is all that ended it.'
            )

    def _require_array(self, key: str, value: Any, kinds: str) -> None:
        shape, _ = self._layout[key]
        if not isinstance(value, np.ndarray) or value.shape != shape or value.dtype.kind not in kinds:
            found = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
            wanted = "plain numbers" if kinds == NUMBERS else "bool"
            raise InvalidEnvironmentError(
                f"The environments' {key} is {found}; by get_env_info() it should be an array of {wanted} of the shape "
                f"{shape}."
            )

    def _require_masks(self, avail_actions: np.ndarray, rows: np.ndarray, steps: int | np.ndarray) -> None:
        for k, row in enumerate(rows.tolist()):
            if problem := problem_of_mask(avail_actions[row]):
                raise InvalidEnvironmentError(f"{_where(rows, steps, k)}: {problem}.")


def _where(rows: np.ndarray, steps: int | np.ndarray, k: int) -> str:
    step = steps if isinstance(steps, int) else steps[k]
    return f"Environment {rows[k]}, {f'after step {step}' if step else 'after reset()'}"
