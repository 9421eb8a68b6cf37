"""The row where one environment writes its observations and outcomes, under either of the two contracts."""

from typing import Any

import numpy as np

from envs.contract.validation import (
    FIRST_MOMENTS,
    InvalidEnvironmentError,
    Outcome,
    outcome_of,
    problem_of_mask,
    shaped,
)
from vector_envs.step_arrays import StepArrays


class EnvironmentRow:
    """Row `row` of `arrays`, for one environment of PyMARL's contract; see `declared_row` for the other one.

    Cheap checks run always, thorough ones in its first steps, see `envs.contract.validation`.
    """

    def __init__(self, arrays: StepArrays, row: int):
        self._row = row
        self._shown = {path: array[row, ...] for path, array in arrays.shown.items()}
        self._outcomes, self._terminated, self._truncated = arrays.outcomes, arrays.terminated, arrays.truncated
        self._actions = {path: array[row, ...] for path, array in arrays.actions.items()}
        self._moments = self._step = 0

    def write_reset(self, env: Any) -> None:
        """Write the observations of `env` after a reset.

        Raises:
            InvalidEnvironmentError: it returns invalid values, or shapes that it did not announce.
        """
        self._step = 0
        self._terminated[self._row] = self._truncated[self._row] = False
        self.write_seen(env)

    def write_seen(self, env: Any) -> None:
        """Write the current observations of `env`; raises like `write_reset`."""
        try:
            self._write_shown(env)
        except InvalidEnvironmentError as error:
            raise self._located(env, error) from None

    def step(self, env: Any) -> Outcome:
        """Step `env` with the row's actions; write the outcome and the observations after it.

        Raises:
            InvalidEnvironmentError: as `write_reset`, or `env.step` returned something else than it must.
        """
        returned = env.step(self._actions["actions"].copy())  # the environment may keep it
        self._step += 1
        try:
            reward, ended, truncated, _ = outcome = outcome_of(returned)
            self._write_shown(env)
        except InvalidEnvironmentError as error:
            raise self._located(env, error) from None
        row = self._row
        self._outcomes["reward"][row] = reward
        self._terminated[row], self._truncated[row] = ended and not truncated, truncated
        return outcome

    def _write_shown(self, env: Any) -> None:
        shown = self._shown
        obs, state, legal = shown["obs"], shown["state"], shown["avail_actions"]
        obs[...] = shaped("get_obs()", obs.shape, env.get_obs())
        state[...] = shaped("get_state()", state.shape, env.get_state())
        mask = shaped("get_avail_actions()", legal.shape, env.get_avail_actions())
        # a byte would hide fractions and NaN
        if self._moments < FIRST_MOMENTS or mask.dtype.kind == "f":
            self._moments += 1
            require_mask(mask, "get_avail_actions()")
        legal[...] = mask

    def _located(self, env: Any, error: InvalidEnvironmentError) -> InvalidEnvironmentError:
        when = f"in step {self._step}" if self._step else "after reset()"
        return InvalidEnvironmentError(f"{type(env).__name__}, {when}: {error}.")


def require_mask(mask: np.ndarray, name: str, choices: bool = True) -> None:
    """Refuse an invalid mask; see `problem_of_mask`."""
    if problem := problem_of_mask(mask, name, choices):
        raise InvalidEnvironmentError(problem)
