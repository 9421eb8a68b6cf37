"""What an environment of Gymnasium shows and takes, as declared fields, and its values as theirs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from envs.contract.fields import FieldSpec
from envs.contract.infos import flat, without_meaning
from envs.contract.legal_actions import MASK, LegalActions
from envs.contract.mask_place import MaskPlace
from envs.contract.spaces import acted, observed
from envs.contract.texts import texts_in
from envs.contract.validation import InvalidEnvironmentError, moment
from envs.gymnasium.minigrid import Cells
from envs.gymnasium.parts import part_of
from utils.errors import ConfigError
from utils.plain_values import quoted

SEE_WORDS = "env_args.words=12 shows it, if it never has more than 12 words."


class Shown:
    """The fields and values of one copy; see `GymnasiumEnv` for the arguments.

    Args:
        action_space: of one copy.
        place_of: where masks of legal actions are, given whether there is anything to choose.
        env: the copy in its wrappers, whose pictures may be MiniGrid's cells; None: they are not.

    Attributes:
        masked: masks are declared: of branches only if there are any, which only a first info may tell.
        unread: paths of texts that have no field.

    Raises:
        ConfigError: there is nothing but a text, or `observe` does not fit.
    """

    def __init__(
        self,
        key: str,
        action_space: Any,
        place_of: Callable[[bool], MaskPlace],
        observe: list[int] | None,
        infos: list[str] | None,
        observation_key: str | None,
        words: int = 0,
        env: Any = None,
    ):
        self.key = key
        self.actions, self.act = acted("actions", action_space)
        self.legal = LegalActions("actions", action_space, self.actions)
        self.place = place_of(bool(self.legal.choices))
        self.space, self._part = part_of(self.place.plain_space, observation_key)
        fields, self._show = observed("obs", self.space, words)
        self.unread = [path for path in texts_in("obs", self.space) if path not in fields]
        if not fields:
            raise ConfigError(f"env_args.key={key}: all that the agent sees is a text. {SEE_WORDS}")
        self._cells = None if env is None else Cells(env, fields)
        self._observations = fields if self._cells is None else self._cells.fields
        self._has_state = _is_vector(self._observations)
        self._observe = None if observe is None else _require_entries(observe, self._observations)
        self.infos = list(infos or ())
        self.masked = "actions" in self.legal.choices or self.place.known
        if self.place.known:
            self.legal.offered = True

    def note_first(self, info: Mapping[str, Any]) -> None:
        """Note from a first info whether there are masks of branches."""
        self.masked = self.masked or info.get(MASK) is not None

    def fields(self) -> dict[str, FieldSpec]:
        fields = dict(self._observations)
        if self._has_state:
            fields["state"] = replace(fields["obs"], group=None)
        if self._observe is not None:
            fields["obs"] = _part_of(fields["obs"], self._observe)
        if self.masked:
            fields |= self.legal.fields()
        for key in self.infos:
            fields[f"infos/{key}"] = FieldSpec("outcome", (), "float32", group=None)
            fields[f"infos/{key}/known"] = FieldSpec("outcome", (), "uint8", group=None)
        return fields | self.actions | {"reward": FieldSpec("outcome", (), "float64", group=None)}

    def seen(self, seen: Any, info: Mapping[str, Any], steps: int, terminated: bool = False) -> dict[str, np.ndarray]:
        """Observations and masks by path, after so many steps of an episode.

        Raises:
            InvalidEnvironmentError: the observation does not fit its space, or the mask the actions.
        """
        plain, mask = self.place.taken(seen, info)
        try:
            values = self._show(self._part(plain))
            if self._cells is not None:
                self._cells.check(values)
            observed = {path: value[None] for path, value in values.items()}
            legal = self.legal.read(mask, self.place.name, terminated)
        except InvalidEnvironmentError as error:
            raise InvalidEnvironmentError(f"env_args.key={self.key}, {moment(steps)}: {error}.") from None
        if self._has_state:
            observed["state"] = observed["obs"][0]
        if self._observe is not None:
            observed["obs"] = observed["obs"][:, self._observe]
        if self.masked:
            observed |= {path: value[None] for path, value in legal.items()}
        return observed

    def kept_of(self, info: Mapping[str, Any]) -> dict[str, float]:
        """The outcomes `infos/...`. Raises ConfigError: an info is not one number."""
        kept: dict[str, float] = {}
        for key in self.infos:
            value = info.get(key, 0.0)
            if np.size(value) != 1 or np.asarray(value).dtype.kind not in "biuf":
                raise ConfigError(f"env_args.infos: '{quoted(key)}' is {quoted(value)}, and not one number.")
            kept |= {f"infos/{key}": float(np.asarray(value).item()), f"infos/{key}/known": float(key in info)}
        return kept


def plain_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """The info of a step without its mask, and without words that mean something to Muster."""
    return without_meaning(flat(info, but=MASK))


def _is_vector(observations: Mapping[str, FieldSpec]) -> bool:
    field = observations.get("obs")
    return field is not None and len(field.shape) == 1 and field.dtype == "float32"


def _require_entries(observe: list[int], observations: Mapping[str, FieldSpec]) -> list[int]:
    if not _is_vector(observations):
        raise ConfigError("env_args.observe: observations are not one vector of floats, so no entry can be chosen.")
    size = observations["obs"].shape[0]
    if not observe or len(set(observe)) < len(observe) or not all(0 <= entry < size for entry in observe):
        raise ConfigError(f"env_args.observe is {observe}; it must have different numbers from 0 to {size - 1}.")
    return list(observe)


def _part_of(field: FieldSpec, entries: list[int]) -> FieldSpec:
    low, high = (
        tuple(bound[k] for k in entries) if isinstance(bound, tuple) else bound for bound in (field.low, field.high)
    )
    return replace(field, shape=(len(entries),), low=low, high=high)
