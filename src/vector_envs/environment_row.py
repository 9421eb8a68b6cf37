"""The row where one environment writes its observations and outcomes, under either of the two contracts."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.fields import FieldSpec, count_of
from envs.outcome import Outcome, outcome_of
from envs.validation import (
    FIRST_MOMENTS,
    InvalidEnvironmentError,
    as_numbers,
    info_of,
    is_end,
    problem_of_mask,
)
from vector_envs.step_arrays import StepArrays


class EnvironmentRow:
    """Row `row` of `arrays`, for one environment.

    Cheap checks run always, thorough ones in its first steps, see `envs.validation`.
    """

    def __init__(self, arrays: StepArrays, row: int):
        self._row, self._spec = row, arrays.spec
        self._shown = {path: array[row, ...] for path, array in arrays.shown.items()}
        self._outcomes = {path: array[row, ...] for path, array in arrays.outcomes.items()}
        self._actions = {path: array[row, ...] for path, array in arrays.actions.items()}
        self._terminated, self._truncated = arrays.terminated, arrays.truncated
        self._counts = {count_of(path) for path, spec in self._spec.fields.items() if spec.capacity is not None}
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
        # copies, which the environment may keep
        if self._spec.declared:
            returned = env.step({path: array.copy() for path, array in self._actions.items()})
        else:
            returned = env.step(self._actions["actions"].copy())
        return self.write_step(env, returned)

    def write_step(self, env: Any, returned: Any) -> Outcome:
        """Write the outcome of a step, as `env.step` returned it, and the observations after it; see `step`."""
        self._step += 1
        try:
            if self._spec.declared:
                outcomes, terminated, truncated, info = self._declared_outcome(returned)
                outcome = Outcome(0.0, terminated or truncated, truncated, info)
            else:
                outcome = outcome_of(returned)
                outcomes = {"reward": outcome.reward}
            self._write_shown(env)
        except InvalidEnvironmentError as error:
            raise self._located(env, error) from None
        for path, target in self._outcomes.items():
            target[...] = outcomes[path]
        row = self._row
        self._terminated[row], self._truncated[row] = outcome.ended and not outcome.truncated, outcome.truncated
        return outcome

    def _write_shown(self, env: Any) -> None:
        if self._spec.declared:
            self._write_declared(env.observe())
        else:
            self._write_pymarl(env)
        self._moments += 1

    def _write_pymarl(self, env: Any) -> None:
        shown = self._shown
        shown["obs"][...] = _shaped("get_obs()", shown["obs"].shape, env.get_obs())
        shown["state"][...] = _shaped("get_state()", shown["state"].shape, env.get_state())
        target = shown["avail_actions"]
        self._put_mask(
            "get_avail_actions()", target, _shaped("get_avail_actions()", target.shape, env.get_avail_actions())
        )

    def _write_declared(self, values: Any) -> None:
        if not isinstance(values, Mapping):
            raise InvalidEnvironmentError(f"observe() returned a {type(values).__name__}; it must be a dictionary")
        fields = self._spec.fields
        for path, target in self._shown.items():
            if path in self._counts:  # written with the ragged field that it counts
                continue
            if path not in values:
                raise InvalidEnvironmentError(f"observe() has no '{path}'; it has {', '.join(values) or 'nothing'}")
            spec, name = fields[path], f"observe()['{path}']"
            if spec.capacity is not None:
                _put_ragged(name, spec, target, self._shown[count_of(path)], values[path])
            elif spec.kind == "mask":
                self._put_mask(name, target, values[path], choices=bool(spec.of))
            else:
                target[...] = _shaped(name, target.shape, values[path])

    def _put_mask(self, name: str, target: np.ndarray, mask: np.ndarray, choices: bool = True) -> None:
        # a byte would hide fractions and NaN
        if (self._moments < FIRST_MOMENTS or mask.dtype.kind == "f") and (
            problem := problem_of_mask(mask, name, choices)
        ):
            raise InvalidEnvironmentError(problem)
        target[...] = mask

    def _declared_outcome(self, returned: Any) -> tuple[dict[str, np.ndarray], bool, bool, dict[str, Any]]:
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
        shaped = {
            path: _shaped(f"step()['{path}']", target.shape, outcomes[path]) for path, target in self._outcomes.items()
        }
        return shaped, terminated, truncated, info_of(info)

    def _located(self, env: Any, error: InvalidEnvironmentError) -> InvalidEnvironmentError:
        when = f"in step {self._step}" if self._step else "after reset()"
        return InvalidEnvironmentError(f"{type(env).__name__}, {when}: {error}.")


def _shaped(name: str, shape: tuple[int, ...], value: Any) -> np.ndarray:
    """The value of `name`, as an array of this shape."""
    value = as_numbers(name, value)
    if value.shape == shape:
        return value
    # axes of size 1 may come and go, as in EpisodeBatch.update
    if [size for size in value.shape if size != 1] != [size for size in shape if size != 1]:
        raise InvalidEnvironmentError(f"{name} has the shape {value.shape}; it was announced as {shape}")
    return value.reshape(shape)


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
