"""The row where one environment writes its observations and outcomes, under either of the two contracts."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.contract.fields import FieldSpec, count_of
from envs.contract.validation import (
    FIRST_MOMENTS,
    InvalidEnvironmentError,
    Outcome,
    as_numbers,
    info_of,
    is_end,
    outcome_of,
    problem_of_mask,
    shaped,
)
from vector_envs.step_arrays import StepArrays


class EnvironmentRow:
    """Row `row` of `arrays`, for one environment of PyMARL's contract; see `DeclaredRow` for the other one.

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


class DeclaredRow(EnvironmentRow):
    """As `EnvironmentRow`, for an environment that declares its fields (`envs.contract.fields`)."""

    def __init__(self, arrays: StepArrays, row: int):
        super().__init__(arrays, row)
        self._fields = arrays.spec.fields
        self._counts = {count_of(path) for path, spec in self._fields.items() if spec.capacity is not None}

    def step(self, env: Any) -> Outcome:
        """See `EnvironmentRow.step`."""
        returned = env.step({path: array.copy() for path, array in self._actions.items()})
        self._step += 1
        try:
            outcomes, terminated, truncated, info = self._outcome_of(returned)
            self._write_shown(env)
        except InvalidEnvironmentError as error:
            raise self._located(env, error) from None
        row = self._row
        for path, array in self._outcomes.items():
            array[row] = outcomes[path]
        self._terminated[row], self._truncated[row] = terminated, truncated
        return Outcome(0.0, terminated or truncated, truncated, info)

    def _write_shown(self, env: Any) -> None:
        values = env.observe()
        if not isinstance(values, Mapping):
            raise InvalidEnvironmentError(f"observe() returned a {type(values).__name__}; it must be a dictionary")
        for path, target in self._shown.items():
            if path in self._counts:  # written with the ragged field that it counts
                continue
            if path not in values:
                raise InvalidEnvironmentError(f"observe() has no '{path}'; it has {', '.join(values) or 'nothing'}")
            spec, name = self._fields[path], f"observe()['{path}']"
            if spec.capacity is not None:
                _put_ragged(name, spec, target, self._shown[count_of(path)], values[path])
            elif spec.kind == "mask":
                mask = shaped(name, target.shape, values[path])
                if self._moments < FIRST_MOMENTS or mask.dtype.kind == "f":  # which a byte would hide
                    require_mask(mask, name, choices=bool(spec.of))
                target[...] = mask
            else:
                target[...] = shaped(name, target.shape, values[path])
        self._moments += 1

    def _outcome_of(self, returned: Any) -> tuple[dict[str, np.ndarray], bool, bool, dict[str, Any]]:
        if not isinstance(returned, tuple) or len(returned) != 4 or not isinstance(returned[0], Mapping):
            raise InvalidEnvironmentError(
                "step() of an environment that declares fields() must return (outcomes, terminated, truncated, info)"
            )
        outcomes, terminated, truncated, info = returned
        terminated, truncated = is_end(terminated), is_end(truncated)
        if terminated and truncated:
            raise InvalidEnvironmentError("step() returned terminated and truncated; an episode ends for one reason")
        if missing := [path for path in self._outcomes if path not in outcomes]:
            raise InvalidEnvironmentError(
                f"step() returned no '{missing[0]}'; it has {', '.join(outcomes) or 'nothing'}"
            )
        values = {
            path: shaped(f"step()['{path}']", target.shape[1:], outcomes[path])
            for path, target in self._outcomes.items()
        }
        return values, terminated, truncated, info_of(info)


def row_of(arrays: StepArrays, row: int) -> EnvironmentRow:
    """The row of an environment with this declaration."""
    return (DeclaredRow if arrays.spec.declared else EnvironmentRow)(arrays, row)


def _put_ragged(name: str, spec: FieldSpec, target: np.ndarray, count: np.ndarray, value: Any) -> None:
    """Write the rows of a ragged field, `[k, *shape]` or a list of such for each agent, zeros after them."""
    if spec.group is not None:
        if len(value) != len(target):
            raise InvalidEnvironmentError(f"{name} has {len(value)} entries for {len(target)} agents")
        for agent, rows in enumerate(value):
            _put_rows(f"{name}[{agent}]", spec, target[agent], count[agent, ...], rows)
        return
    _put_rows(name, spec, target, count, value)


def _put_rows(name: str, spec: FieldSpec, target: np.ndarray, count: np.ndarray, rows: Any) -> None:
    rows = as_numbers(name, rows)
    if rows.size == 0:
        rows = rows.reshape(0, *spec.shape)
    if rows.shape[1:] != spec.shape:
        raise InvalidEnvironmentError(
            f"{name} has rows of the shape {rows.shape[1:]}; it was announced as {spec.shape}"
        )
    if len(rows) > len(target):
        raise InvalidEnvironmentError(f"{name} has {len(rows)} rows, more than its capacity of {len(target)}")
    target[: len(rows)], target[len(rows) :] = rows, 0
    count[...] = len(rows)


def close_environment(env: Any) -> None:
    """Close it, if it has something to close: one with declared fields need not have the method."""
    if hasattr(env, "close"):
        env.close()
