"""A game's functions, vectorised over its copies and compiled, once in a process for all of its batches."""

from typing import Any, NamedTuple

from envs.jax_games.game import Game, Played, View
from envs.jax_games.keys import game_of
from envs.jax_games.options import JaxOptions
from envs.jax_games.packages import jax_for

_COMPILED: dict[str, "Functions"] = {}


class Copies(NamedTuple):
    """All copies, an entry each: whose episode it is, its steps, whether it is over, the game's state, and the last
    step. On JAX's device."""

    seed: Any  # [B] uint32
    episode: Any  # [B] int32, -1 before the first one
    t: Any  # [B] int32
    over: Any  # [B] bool
    state: Any
    view: View
    rewards: Any  # [B, n] float32
    terminated: Any
    truncated: Any
    infos: dict[str, Any]


class Functions:
    """
    Args:
        jax: the package.
        game: one copy.

    Attributes:
        begin: of seeds and numbers of episodes: states and views of their beginnings.
        step: of copies and actions: the copies after a step; those whose episodes are over stay as they are.
        put: of copies, the rows of some, and what `begin` returned for these: all copies.
    """

    def __init__(self, jax: Any, game: Game):
        self.jax, self.game = jax, game
        self.begin, self.step = jax.jit(jax.vmap(self._begun)), jax.jit(jax.vmap(self._stepped))
        self.put = jax.jit(self._placed)

    def _key(self, seed: Any, episode: Any, t: Any) -> Any:
        random = self.jax.random
        return random.fold_in(random.fold_in(random.PRNGKey(seed), episode), t)

    def _begun(self, seed: Any, episode: Any) -> tuple[Any, View]:
        return self._strong(self.game.reset(self._key(seed, episode, 0)))

    def _strong(self, tree: Any) -> Any:
        """The same, without JAX's weak types: arrays that differ in these are compiled for once more."""
        jax = self.jax

        def strong(leaf: Any) -> Any:
            is_key = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
            return leaf if is_key else jax.lax.convert_element_type(leaf, leaf.dtype)

        return jax.tree.map(strong, tree)

    def _stepped(self, copy: Copies, action: Any) -> Copies:
        """One copy after a step; one whose episode is over stays as it is."""
        jnp = self.jax.numpy
        t = copy.t + 1
        played: Played = self.game.step(self._key(copy.seed, copy.episode, t), copy.state, action)
        cut = ~played.terminated & (played.truncated | (t >= self.game.time_limit))
        after = copy._replace(
            t=t,
            over=played.terminated | cut,
            state=played.state,
            view=played.view,
            rewards=played.rewards,
            terminated=played.terminated,
            truncated=cut,
            infos=played.infos,
        )

        def kept(old: Any, new: Any) -> Any:
            return jnp.where(copy.over, old, new if new.dtype == old.dtype else new.astype(old.dtype))

        return self._strong(self.jax.tree.map(kept, copy, after))

    def _placed(self, copies: Copies, rows: Any, begun: tuple[Any, View]) -> Copies:
        """The copies, of which `rows` have begun an episode."""
        state, view = self.jax.tree.map(lambda old, new: old.at[rows].set(new), (copies.state, copies.view), begun)
        return copies._replace(
            state=state,
            view=view,
            t=copies.t.at[rows].set(0),
            over=copies.over.at[rows].set(False),
            rewards=copies.rewards.at[rows].set(0),
            terminated=copies.terminated.at[rows].set(False),
            truncated=copies.truncated.at[rows].set(False),
        )

    def blank(self, size: int) -> Copies:
        """So many copies before their first episodes, in the shapes that they keep."""
        jax, jnp, game = self.jax, self.jax.numpy, self.game
        number, truth = jnp.zeros(size, jnp.int32), jnp.zeros(size, bool)
        state, view = self.begin(number.astype(jnp.uint32), number)
        actions = jnp.zeros((size, game.n_agents, *game.action_shape), jnp.int32 if game.n_actions else jnp.float32)
        played = jax.eval_shape(jax.vmap(game.step), jax.random.split(jax.random.PRNGKey(0), size), state, actions)
        paid, infos = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), (played.rewards, played.infos))
        return Copies(number.astype(jnp.uint32), number, number, ~truth, state, view, paid, truth, truth, infos)


def functions_of(options: JaxOptions) -> Functions:
    """Raises ConfigError as `game_of`."""
    this = repr((options.key, sorted(options.kwargs.items()), options.time_limit))
    if this not in _COMPILED:
        game = game_of(options)
        _COMPILED[this] = Functions(jax_for(f"env_args.key={options.key}"), game)
    return _COMPILED[this]
