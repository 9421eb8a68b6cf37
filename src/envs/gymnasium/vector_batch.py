"""Many copies of an environment as one batch, stepped by the vectorised environment that others have written."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from envs.contract.fields import AGENTS, FieldSpec
from envs.contract.legal_actions import MASK
from envs.contract.validation import InvalidEnvironmentError
from envs.gymnasium import states, vector_forms
from envs.gymnasium.shown import plain_info
from envs.gymnasium.vector_forms import Autoreset
from envs.gymnasium.vector_values import VectorValues, info_of

REMEDY = (
    "Play whole episodes that begin together (runner=episodes, or runner=batched with batched_mode=synchronous), or "
    "let every copy be an environment of its own (vector_env=workers, or in_process)."
)
# what a checkpoint has of it, with an entry for each copy
KEPT = ("_ended", "_waiting", "_over", "_terminated", "_truncated", "_steps")


class VectorBatch:
    """B copies as one environment (`vector_envs.contract.BatchedEnv`), on a `gymnasium.vector.VectorEnv` of others.

    Every call steps all of its copies. One whose episode is over is shown as it was until it is reset; whatever the
    environment plays with it in the meantime is not the run's. It is reset to an episode of which no step was played:
    the environment has begun it in this very step, or does so now. Where it cannot, since others play, the next step
    begins it, and the copy is `lost` in that step.

    Args:
        batch_size: B.
        seed: of each copy; the environment is given all of them, or the first one, see `vector_forms`.
        key, kwargs, time_limit, observe, infos, observation_key: see `GymnasiumEnv`.

    Attributes:
        lost: bool `[B]`, after a step: see `vector_envs.contract.StepOutcome`.
    """

    def __init__(
        self,
        batch_size: int,
        key: str = "CartPole-v1",
        kwargs: dict[str, Any] | None = None,
        time_limit: int | None = None,
        observe: list[int] | None = None,
        infos: list[str] | None = None,
        observation_key: str | None = None,
        seed: Sequence[int | None] | None = None,
    ):
        self._form = vector_forms.made(key, batch_size, time_limit, kwargs, seed)
        self._env, self.key, self.batch_size = self._form.env, key, batch_size
        self.groups, self.episode_limit, self._seeds = {AGENTS: 1}, self._form.limit, self._form.seeds
        self._values = VectorValues(key, self._env, observe, infos, observation_key)
        # of the environment: copies whose episode has ended, copies at the beginning of one, and what it returned last
        self._ended, self._ready, self._waiting = np.zeros((3, batch_size), bool)
        self._latest: tuple[Any, Mapping[str, Any]] | None = None
        # of the run: copies that wait for their reset or for the step that is one, and how their episodes ended
        self._over = np.ones(batch_size, bool)
        self._terminated, self._truncated, self.lost = np.zeros((3, batch_size), bool)
        self._steps = np.zeros(batch_size, np.int64)
        self._infos: list[dict[str, Any]] = [{} for _ in range(batch_size)]
        if self._values.legal.choices and not self._values.masked:
            self._values.note_first(info_of(self._restart_all()[1], 0))
            self._seeds, self._ready[:] = self._form.seeds, False
        self._fields = self._values.fields()
        self._seen = {
            path: np.zeros((batch_size, *([] if field.group is None else [1]), *field.shape), field.dtype)
            for path, field in self._fields.items()
            if field.kind in ("observation", "mask")
        }

    def fields(self) -> dict[str, FieldSpec]:
        return self._fields

    def reset(self, which: np.ndarray | None = None) -> None:
        """See `BatchedEnv`. Raises InvalidEnvironmentError: others play, and these cannot be reset alone."""
        which = np.ones(self.batch_size, bool) if which is None else np.asarray(which, bool)
        fresh = which & self._over & self._ready
        if (fresh == which).all():
            self._begin(fresh)
        elif not (~self._over & ~which).any():
            self._restart_all()
            self._begin(which)
        else:
            self._begin(fresh)
            self._reset_among_others(which & ~fresh)

    def _reset_among_others(self, which: np.ndarray) -> None:
        if self._form.by_mask:
            self._restart(which)
            self._begin(which)
        elif self._form.mode is Autoreset.NEXT_STEP and self._ended[which].all():
            self._waiting |= which
        else:
            b = np.flatnonzero(which)[0]
            cut = f", and its episode did not end by itself within env_args.time_limit={self.episode_limit} steps"
            raise InvalidEnvironmentError(
                f"env_args.key={self.key}: copy {b} cannot be reset while others play (autoreset_mode "
                f"{self._form.mode.name}{cut if self._steps[b] >= self.episode_limit else ''}). {REMEDY}"
            )

    def _restart_all(self) -> tuple[Any, Mapping[str, Any]]:
        self._latest = returned = self._env.reset(**({} if self._seeds is None else {"seed": self._seeds}))
        # later episodes continue with the generators' state
        self._seeds = None
        self._ready[:], self._ended[:], self._waiting[:] = True, False, False
        return returned

    def _restart(self, which: np.ndarray) -> None:
        obs, infos = self._env.reset(options={"reset_mask": which.copy()})
        if self._latest is not None and MASK in infos and MASK in self._latest[1]:
            # those of the others are as they were
            masks = np.array(self._latest[1][MASK])
            masks[which] = np.asarray(infos[MASK])[which]
            infos = {**{name: value for name, value in infos.items() if name != f"_{MASK}"}, MASK: masks}
        self._latest = obs, infos
        self._ready |= which
        self._ended &= ~which

    def _begin(self, which: np.ndarray) -> None:
        """Let the run play the episodes that these copies are at the beginning of."""
        if not which.any():
            return
        assert self._latest is not None, "they are ready"
        for ends in (self._over, self._terminated, self._truncated, self._ready):
            ends[which] = False
        self._steps[which] = 0
        self._keep(which, *self._latest)

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
        mode, playing = self._form.mode, ~self._over
        if mode is Autoreset.DISABLED and self._ended.any():
            self._restart(self._ended.copy())  # which it would not step
        obs, rewards, terminated, truncated, infos = self._env.step(self._chosen(actions, playing))
        terminated, truncated = self._ends("terminated", terminated), self._ends("truncated", truncated)
        self._latest = obs, infos
        # of copies that had ended, this was the reset
        begun = self._ended.copy() if mode is Autoreset.NEXT_STEP else np.zeros_like(playing)
        ended, restarted = (terminated | truncated) & ~begun, mode is Autoreset.SAME_STEP
        self._steps[playing] += 1
        self._terminated[playing], at_end = terminated[playing], playing & ended
        cut = playing & ~ended & (self._steps >= self.episode_limit)
        self._truncated[playing] = ((truncated & ~terminated) | cut)[playing]
        self._keep(playing & ~at_end if restarted else playing, obs, infos)
        told = playing & (at_end | cut | bool(self._values.infos))
        infos_now = {b: info_of(infos, b) for b in np.flatnonzero(told).tolist()}
        if restarted:
            infos_now |= {b: self._keep_last(b, infos) for b in np.flatnonzero(at_end).tolist()}
        for b, info in infos_now.items():
            self._infos[b] = plain_info(info)
        self._over |= at_end | cut
        self._ended, self._ready = (np.zeros_like(ended), ended) if restarted else (ended, begun)
        self.lost = self._waiting & begun
        self._waiting &= ~self.lost
        return {"reward": np.array(rewards, np.float64), **self._kept(infos_now)}, self._terminated, self._truncated

    def _ends(self, name: str, values: Any) -> np.ndarray:
        ends = np.asarray(values)
        if ends.shape != (self.batch_size,):
            raise InvalidEnvironmentError(
                f"env_args.key={self.key}: step() returned {name} of the shape {ends.shape}; it must have an entry for "
                f"each of {self.batch_size} copies."
            )
        return ends.astype(bool)

    def _keep(self, which: np.ndarray, obs: Any, infos: Mapping[str, Any]) -> None:
        """Note what these copies see."""
        rows = np.flatnonzero(which)
        if len(rows):
            for path, values in self._values.of(obs, infos, rows, self._steps, self._terminated).items():
                self._seen[path][rows] = values

    def _keep_last(self, b: int, infos: Mapping[str, Any]) -> dict[str, Any]:
        seen, info = self._values.last(infos, b, int(self._steps[b]), bool(self._terminated[b]))
        for path, values in seen.items():
            self._seen[path][b] = values
        return info

    def _kept(self, infos: Mapping[int, Mapping[str, Any]]) -> dict[str, np.ndarray]:
        """The outcomes `infos/...`, zeros of copies that do not play."""
        kept = {
            path: np.zeros(self.batch_size, field.dtype)
            for path, field in self._fields.items()
            if path.startswith("infos/")
        }
        for b, info in infos.items() if kept else ():
            for path, value in self._values.kept_of(info).items():
                kept[path][b] = value
        return kept

    def _chosen(self, actions: Mapping[str, np.ndarray], playing: np.ndarray) -> Any:
        """The actions, those of copies that do not play being the first legal ones."""
        chosen = {path: np.array(values) for path, values in actions.items()}
        rows = np.flatnonzero(~playing)
        for values in chosen.values() if len(rows) else ():
            values[rows] = 0
        if len(rows) and self._values.legal.offered and self._latest is not None:
            steps, over = np.zeros_like(self._steps), np.ones(self.batch_size, bool)
            legal = self._values.of(*self._latest, rows, steps, over)
            for action, mask in self._values.legal.masks.items():
                chosen[action][rows] = legal[mask].argmax(axis=-1)
        return self._values.chosen(chosen)

    def observed(self) -> dict[str, np.ndarray]:
        return self._seen

    def info(self, b: int) -> dict[str, Any]:
        return self._infos[b]

    def state_dict(self) -> dict[str, Any]:
        """See `BatchedEnv`; see `states` for which environments."""
        kept = {name: getattr(self, name).copy() for name in KEPT}
        seen = {path: values.copy() for path, values in self._seen.items()}
        first = {"seeds": self._seeds, "offered": self._values.legal.offered}
        return {**kept, **first, "seen": seen, "env": states.captured(self._env)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in KEPT:
            getattr(self, name)[:] = state[name]
        for path, values in state["seen"].items():
            self._seen[path][:] = values
        self._seeds, self._values.legal.offered = state["seeds"], state["offered"]
        self._ready[:], self._latest = False, None
        states.restore(self._env, state["env"])

    def snapshot(self) -> dict[str, Any]:
        raise NotImplementedError(f"{self.key} has no snapshots, as a vectorised environment")

    def scene(self) -> dict[str, Any]:
        return {}

    def action_names(self) -> list[list[str]] | None:
        return None

    def close(self) -> None:
        self._env.close()
