"""Many copies of an environment written in JAX: vectorised, compiled, and stepped by one call."""

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from envs.compiled.team_game import TeamOutputs
from envs.contract.seeds import SEED_LIMIT, copies_seeds
from envs.jax_games.functions import functions_of
from envs.jax_games.options import JaxOptions
from utils.errors import MusterError

# copies that are reset together, in compiled functions of so many copies each
FEW = 16


class JaxSimulator:
    """B copies of a game. Episode k of a copy depends on its seed and on k alone: all of its random keys do.

    Args:
        batch_size: B.
        seed: as of `envs.compiled.simulator.Simulator`.
        threads: of no meaning.
        env_args: the fields of `JaxOptions`.
    """

    def __init__(self, batch_size: int, seed: Any = None, threads: int = 1, **env_args: Any):
        self.options, self.batch_size = JaxOptions(seed=seed, **env_args), batch_size
        self._functions = functions_of(self.options)
        self._jax, self.game = self._functions.jax, self._functions.game
        self.n_agents = self.game.n_agents
        self._copies = self._functions.blank(batch_size)
        self.seed(self.options.seed)
        self.outputs, self.states = self._shown()

    def seed(self, seed: int | Sequence[int] | None) -> None:
        """Seed the copies, and count their episodes from 0 again."""
        seeds = copies_seeds(secrets.randbelow(SEED_LIMIT) if seed is None else seed, self.batch_size)
        jnp = self._jax.numpy
        self._copies = self._copies._replace(
            seed=jnp.asarray(seeds, jnp.uint32),
            episode=jnp.full(self.batch_size, -1, jnp.int32),
            over=jnp.ones(self.batch_size, bool),
        )

    def reset(self, which: np.ndarray | None = None) -> TeamOutputs:
        """Begin the next episode of the copies `which` (bool `[B]`; None: all)."""
        rows = np.arange(self.batch_size) if which is None else np.flatnonzero(which)
        if len(rows):
            # the same few numbers of rows each time, for each of which JAX compiles; the first row fills them up
            padded = np.resize(rows, _padded(len(rows), self.batch_size))
            padded[len(rows) :] = rows[0]
            episode = np.array(self._copies.episode)
            episode[rows] += 1
            self._copies = self._copies._replace(episode=self._jax.numpy.asarray(episode))
            begun = self._functions.begin(self._copies.seed[padded], self._copies.episode[padded])
            self._copies = self._functions.put(self._copies, padded, begun)
            self.outputs, self.states = self._shown()
        return self.outputs

    def step(self, actions: np.ndarray) -> TeamOutputs:
        """Play one step of all copies. Raises ValueError: a choice that there is not; nothing has happened then."""
        chosen = np.asarray(actions)
        if self.game.n_actions:
            if ((chosen < 0) | (chosen >= self.game.n_actions)).any():
                raise ValueError(f"Actions are 0 to {self.game.n_actions - 1}, not {chosen.min()} to {chosen.max()}.")
            chosen = chosen.astype(np.int32)
        else:
            chosen = np.clip(chosen, self.game.low, self.game.high, dtype=np.float32)
        self._copies = self._functions.step(self._copies, chosen)
        self.outputs, self.states = self._shown()
        return self.outputs

    def _shown(self) -> tuple[TeamOutputs, np.ndarray]:
        """What copies show, in arrays that nobody else has."""
        copies, view = self._copies, self._copies.view
        rewards = np.asarray(copies.rewards).astype(np.float64)
        ends = np.array(copies.terminated), np.array(copies.truncated)
        return TeamOutputs(np.array(view.obs), np.array(view.legal), rewards, *ends), np.array(view.state)

    def info(self, b: int) -> dict[str, Any]:
        """The numbers of copy b's last step."""
        return {name: np.asarray(values)[b].item() for name, values in self._copies.infos.items()}

    def infos_at(self, rows: np.ndarray) -> list[dict[str, Any]]:
        values = {name: np.asarray(array)[rows].tolist() for name, array in self._copies.infos.items()}
        return [{name: column[k] for name, column in values.items()} for k in range(len(rows))]

    def state_dict(self) -> dict[str, np.ndarray]:
        """Arrays with an entry for each copy, from which all continue identically."""
        leaves = self._jax.tree.leaves(self._copies)
        return {f"copies.{k}": np.array(self._plain(leaf)) for k, leaf in enumerate(leaves)}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Continue from where `state_dict` was taken. Raises MusterError: it does not fit; nothing has happened."""
        leaves, tree = self._jax.tree.flatten(self._copies)
        saved = [state.get(f"copies.{k}") for k in range(len(leaves))]
        for leaf, array in zip(leaves, saved, strict=True):
            if array is None or np.shape(array) != self._plain(leaf).shape:
                raise MusterError("The saved state is of another environment, or of another number of copies.")
        self._copies = tree.unflatten(map(self._restored, leaves, saved))
        self.outputs, self.states = self._shown()

    def _is_key(self, leaf: Any) -> bool:
        """Whether it has JAX's typed random keys, which are no numbers."""
        return self._jax.dtypes.issubdtype(leaf.dtype, self._jax.dtypes.prng_key)

    def _plain(self, leaf: Any) -> Any:
        return self._jax.random.key_data(leaf) if self._is_key(leaf) else leaf

    def _restored(self, leaf: Any, array: Any) -> Any:
        if self._is_key(leaf):
            return self._jax.random.wrap_key_data(self._jax.numpy.asarray(array), impl=self._jax.random.key_impl(leaf))
        return self._jax.numpy.asarray(array, leaf.dtype)


def _padded(rows: int, copies: int) -> int:
    """The number of rows that so many are filled up to: 16, 256, 4096, ..., and at most all copies."""
    size = FEW
    while size < rows:
        size *= FEW
    return min(size, copies)
