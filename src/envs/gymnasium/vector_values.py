"""Values of all copies of a vectorised environment at once, as those of declared fields."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.contract.legal_actions import MASK
from envs.contract.mask_place import METHOD, MaskPlace
from envs.contract.optional import require
from envs.contract.validation import NUMBERS, InvalidEnvironmentError, moment
from envs.gymnasium.shown import Shown

# what a step in which copies restart has in its info: Gymnasium's words today, and before
LAST_OBS, LAST_INFO = ("final_obs", "final_observation"), "final_info"
# of no meaning to a copy: those words, and EnvPool's numbers of copies
APART = (*LAST_OBS, LAST_INFO, "env_id", "players")


class VectorValues(Shown):
    """As `Shown`, of arrays with an entry for each copy.

    Masks are in the observations, from the method `action_masks()`, which has one for each copy, or in the info.

    Args:
        env: a `gymnasium.vector.VectorEnv`.
    """

    def __init__(
        self,
        key: str,
        env: Any,
        observe: list[int] | None,
        infos: list[str] | None,
        observation_key: str | None,
    ):
        self._spaces = require("gymnasium.spaces", "env=gymnasium")
        self._action_space, self._single = env.single_action_space, env.single_observation_space
        self._masks_now = getattr(env, METHOD, None) or getattr(env.unwrapped, METHOD, None)
        self._masks: Any = None
        self._row = 0
        method = None if self._masks_now is None else self._mask_of_row
        place = MaskPlace(key, self._single, True, method)
        super().__init__(
            key,
            self._action_space,
            lambda choices: place if choices else MaskPlace(key, self._single, False),
            observe,
            infos,
            observation_key,
        )
        kinds = self._spaces.Box | self._spaces.Discrete
        self._in_one = isinstance(self.space, kinds) and self.space is self._single and method is None

    def _mask_of_row(self) -> Any:
        return self._masks[self._row]

    def of(
        self, obs: Any, infos: Mapping[str, Any], rows: np.ndarray, steps: np.ndarray, terminated: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Observations and masks of the copies `rows` by path, `[len(rows), ...]`.

        Args:
            obs, infos: as the environment returned them.
            steps, terminated: of all copies.

        Raises:
            InvalidEnvironmentError: an observation does not fit its space, or a mask the actions.
        """
        if self._in_one and (together := self._together(obs, infos, rows, steps, terminated)) is not None:
            return together
        if self._masks_now is not None:
            self._masks = self._masks_now()
        each = []
        for b in rows.tolist():
            self._row = b
            said = info_of(infos, b, without=())
            each.append(self.seen(_entry(self._spaces, self._single, obs, b), said, int(steps[b]), bool(terminated[b])))
        return {path: np.stack([one[path] for one in each]) for path in each[0]}

    def _together(
        self, obs: Any, infos: Mapping[str, Any], rows: np.ndarray, steps: np.ndarray, terminated: np.ndarray
    ) -> dict[str, np.ndarray] | None:
        """The same without a loop, or None where something has to be looked at one by one."""
        array, field = np.asarray(obs), self._observations["obs"]
        if array.shape[1:] != self.space.shape or array.dtype.kind not in "biuf":
            return None
        array = array[rows]
        if isinstance(self.space, self._spaces.Discrete):
            chosen = array.astype(np.int64) - int(self.space.start)
            if ((chosen < 0) | (chosen >= int(self.space.n))).any():
                return None
            array = np.eye(int(self.space.n), dtype=np.float32)[chosen]
        elif field.dtype != "float32" and array.dtype != field.dtype:
            return None
        array = array.astype(field.dtype)
        seen = {"obs": array[:, None]}
        if self._has_state:
            seen["state"] = array
        if self._observe is not None:
            seen["obs"] = seen["obs"][:, :, self._observe]
        return {**seen, **self._legal_of(infos, rows, steps, terminated)} if self.masked else seen

    def _legal_of(
        self, infos: Mapping[str, Any], rows: np.ndarray, steps: np.ndarray, terminated: np.ndarray
    ) -> dict[str, np.ndarray]:
        said, over = infos.get(MASK), terminated[rows]
        if said is None and not self.legal.offered:
            legal = self.legal.read(None, self.place.name)
            return {path: np.broadcast_to(mask, (len(rows), 1, len(mask))) for path, mask in legal.items()}
        if (valid := self._valid_masks(infos, rows, over)) is not None:
            return valid
        each = []
        for b, ended in zip(rows.tolist(), over.tolist(), strict=True):
            try:
                each.append(self.legal.read(info_of(infos, b, without=()).get(MASK), self.place.name, ended))
            except InvalidEnvironmentError as error:
                where = f"env_args.key={self.key}, copy {b}, {moment(int(steps[b]))}"
                raise InvalidEnvironmentError(f"{where}: {error}.") from None
        return {path: np.stack([one[path] for one in each])[:, None] for path in each[0]}

    def _valid_masks(
        self, infos: Mapping[str, Any], rows: np.ndarray, over: np.ndarray
    ) -> dict[str, np.ndarray] | None:
        """Masks of one array, `[B, choices]`, without a loop; None where one has to be looked at by itself."""
        array, there, sizes = infos.get(MASK), infos.get(f"_{MASK}"), [*self.legal.choices.values()]
        kinds = self._spaces.Discrete | self._spaces.MultiDiscrete
        if not isinstance(array, np.ndarray) or array.dtype.kind not in NUMBERS or array.shape[1:] != (sum(sizes),):
            return None
        if not isinstance(self._action_space, kinds) or self.legal.offered is False:
            return None
        if (there is not None and not np.asarray(there)[rows].all()) or np.any((array != 0) & (array != 1)):
            return None
        self.legal.offered, masks = True, {}
        parts = np.split(array[rows].astype(np.uint8), np.cumsum(sizes)[:-1], axis=1)
        for path, part in zip(self.legal.masks.values(), parts, strict=True):
            none = ~part.any(axis=1)
            if (none & ~over).any():
                return None
            part[none] = 1  # whoever has terminated needs no legal one
            masks[path] = part[:, None]
        return masks

    def last(self, infos: Mapping[str, Any], b: int, steps: int, terminated: bool) -> tuple[dict, dict]:
        """Of a copy that has restarted in this step: the observations and masks of its end by path, and its info.

        Raises:
            InvalidEnvironmentError: the info does not have them.
        """
        name = next((name for name in LAST_OBS if name in infos), None)
        obs = None if name is None else _entry_of_list(self._spaces, self._single, infos[name], b)
        if obs is None:
            raise InvalidEnvironmentError(
                f"env_args.key={self.key}, copy {b}, {moment(steps)}: its episode has ended and it has restarted "
                f"(autoreset_mode SAME_STEP), but the info has no '{LAST_OBS[0]}' of it"
            )
        said = infos.get(LAST_INFO)
        info = info_of(said, b, without=()) if isinstance(said, Mapping) else (said[b] if said is not None else None)
        info = dict(info or {})
        if self._masks_now is not None:  # which is of the next episode
            self._masks, self._row = {b: self._everything()}, b
        elif self.legal.offered and MASK not in info and not self.place.known:
            info[MASK] = self._everything()
        return self.seen(obs, info, steps, terminated), info

    def _everything(self) -> np.ndarray:
        """A mask by which every choice is legal."""
        return np.ones(sum(self.legal.choices.values()), np.int8)

    def chosen(self, actions: Mapping[str, np.ndarray]) -> Any:
        """The actions of all copies, by path `[B, 1, *shape]`, as the environment takes them."""
        space, spaces = self._action_space, self._spaces
        if isinstance(space, spaces.Discrete):
            return actions["actions"][:, 0].astype(space.dtype) + space.start
        if isinstance(space, spaces.Box):
            return np.clip(actions["actions"][:, 0], space.low, space.high).astype(space.dtype)
        count = len(next(iter(actions.values())))
        if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
            together = np.stack([actions[path][:, 0] for path in self.actions], axis=1).astype(space.dtype)
            return together.reshape(count, *space.shape) + getattr(space, "start", 0)
        utils = require("gymnasium.vector.utils", "env=gymnasium")
        each = [self.act({path: values[b] for path, values in actions.items()}, 0) for b in range(count)]
        return utils.concatenate(space, each, utils.create_empty_array(space, n=count))


def info_of(infos: Mapping[str, Any], b: int, without: tuple[str, ...] = APART) -> dict[str, Any]:
    """The info of copy b. What has no entry for each copy is left out; `_<key>` says which copies have a key."""
    found: dict[str, Any] = {}
    for name, values in infos.items():
        there = infos.get(f"_{name}")
        is_flag = isinstance(name, str) and name.startswith("_") and name[1:] in infos
        if name in without or is_flag or (there is not None and not there[b]):
            continue
        if isinstance(values, Mapping):
            found[name] = info_of(values, b)
        elif getattr(values, "shape", ()) or isinstance(values, list | tuple):
            found[name] = values[b]
    return found


def _entry(spaces: Any, space: Any, values: Any, b: int) -> Any:
    """Copy b's part of the values of a space."""
    if isinstance(space, spaces.Dict):
        return {key: _entry(spaces, inner, values[key], b) for key, inner in space.spaces.items() if key in values}
    if isinstance(space, spaces.Tuple):
        return tuple(_entry(spaces, inner, part, b) for inner, part in zip(space.spaces, values, strict=True))
    return values[b]


def _entry_of_list(spaces: Any, space: Any, values: Any, b: int) -> Any:
    """The same, also of a list with an observation, or None, for each copy."""
    if isinstance(values, list) or getattr(getattr(values, "dtype", None), "kind", "") == "O":
        return values[b]
    return _entry(spaces, space, values, b)
