"""A parallel environment of PettingZoo with a time limit, a seed, a state and snapshots."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from envs.contract.arguments import in_words
from envs.contract.infos import flat, without_meaning
from envs.contract.legal_actions import MASK
from envs.contract.mask_place import METHOD
from envs.contract.validation import NUMBERS, InvalidEnvironmentError, moment
from envs.pettingzoo.agent import Agent
from envs.pettingzoo.particles import particles
from utils.plain_values import quoted

# where the state comes from: the environment's own if it has one, or all observations side by side
OWN, OBSERVATIONS = STATES = ("own", "observations")
WITHOUT_STATE = (
    f"With env_args.state={OBSERVATIONS}, the environment's own state is left out: the observations of all agents, "
    "side by side, are the state"
)
# the rewards of several agents as one
REWARDS: dict[str, Callable[..., Any]] = {"sum": np.sum, "mean": np.mean}


class Step(NamedTuple):
    """What a step brought, by agent, without agents whose own end was before it.

    And the agents that can act after it, `able`; those of them that it cut off, `cut`; whether it ended the episode,
    and by a cut.
    """

    obs: dict[str, Any]
    rewards: dict[str, float]
    terminations: dict[str, bool]
    infos: dict[str, dict]
    able: list[str]
    cut: list[str]
    ended: bool
    truncated: bool


class ParallelGame:
    """The episode terminates when the last agents do; it is truncated when time is up or the environment truncates
    agents that did not terminate.

    An agent's end is final, whether or not the environment still lists it among its `agents`, as some do. One that is
    still listed is passed on with its only choice, the first one, since the environment may ask for it; the others are
    not passed on.

    A subclass fills `players` by agent, and `_keep`s what agents see.

    Args:
        env: the `parallel_env`.
        key: its name, for messages.
        time_limit: steps of an episode, if the environment does not end it before.
        seed: given to the first reset; None: a random one.
        state: one of `STATES`.
    """

    def __init__(self, env: Any, key: str, time_limit: int, seed: int | None, state: str = OWN):
        self._env, self._key, self._seed = env, key, seed
        self._agents = list(env.possible_agents)
        self.players: dict[str, Agent] = {}
        self.episode_limit = time_limit
        # None until the first reset
        self._own_size: int | None = None
        self._uses_own = state == OWN
        self._repeats = type(getattr(env, "unwrapped", env)).__module__.startswith("mpe2.")
        self._offers: Callable[[], Any] | None = getattr(env, METHOD, None)
        # agents whose own end was in this episode
        self._over: set[str] = set()
        # of each agent, what it can do now, by the paths of masks
        self._legal: dict[str, dict[str, np.ndarray]] = {}
        # what the present episode started from, and its actions
        self._start: dict[str, Any] = {}
        self._played: list[Mapping[str, Any]] = []

    def player(self, agent: str, prefix: str = "") -> Agent:
        """What an agent sees and does; see `Agent`."""
        said = f"{METHOD}()" if self._offers is not None else getattr(self._env, "masks_by", "")
        return Agent(self._env, agent, prefix, self._key, said)

    def begin(self) -> tuple[dict, dict]:
        if self._repeats:
            self._start, self._played = self._beginning(), []
        obs, infos = self._env.reset(seed=self._seed)
        # later episodes continue with the generator's state
        self._seed = None
        self._steps = 0
        self._ended = False
        self._over = set()
        return obs, self._masked(infos)

    def _masked(self, infos: dict) -> dict:
        """The infos with the masks of the method `action_masks()`, if there is one."""
        if self._offers is None:
            return infos
        masks = self._offers()
        if not isinstance(masks, Mapping):
            if not isinstance(masks, Sequence | np.ndarray) or len(masks) != len(self._agents):
                raise self._fault(
                    f"{METHOD}() returns {quoted(masks)}; it must be a mask for each of {len(self._agents)} agents"
                )
            masks = dict(zip(self._agents, masks, strict=True))
        return {agent: {**infos.get(agent, {}), MASK: masks.get(agent)} for agent in {**infos, **masks}}

    def play(self, actions: Mapping[str, Any]) -> Step:
        """Let every agent that is still there act."""
        if self._repeats:
            self._played.append(actions)
        listed, over = list(self._env.agents), self._over
        acting = [agent for agent in listed if agent not in over]
        chosen = {agent: action for agent, action in actions.items() if agent in listed}
        obs, rewards, terminations, truncations, infos = self._env.step(chosen)
        self._steps += 1
        infos = self._masked(infos)
        dead = {agent for agent in acting if terminations.get(agent, False)}
        cut = [agent for agent in acting if truncations.get(agent, False) and agent not in dead]
        if dead or cut or over:
            self._over = over | dead | {*cut}
        left = [agent for agent in self._env.agents if agent not in self._over]
        if over:
            here = {*acting, *left}
            obs, rewards, terminations, infos = (_of(here, part) for part in (obs, rewards, terminations, infos))
        time_up = bool(left) and self._steps >= self.episode_limit
        self._ended = ended = not left or time_up
        # also those cut off: learning bootstraps from their last state
        able = [*left, *cut]
        return Step(obs, rewards, terminations, infos, able, cut, ended, ended and (time_up or bool(cut)))

    def seen_by(self, agent: str, obs: dict, infos: dict, able: Iterable[str]) -> tuple[dict | None, dict]:
        """The values of an agent's observations, None if it sees nothing, and of its masks. Raises
        InvalidEnvironmentError: its observation does not fit its space, or the mask its actions."""
        player = self.players[agent]
        plain, mask = player.plain(obs.get(agent), infos.get(agent))
        try:
            values = None if plain is None else player.show(plain)
            legal = player.legal.read(mask, player.where_masked) if agent in able else player.legal.first_only()
        except InvalidEnvironmentError as error:
            raise self._fault(f"{agent}: {error}") from None
        self._legal[agent] = legal
        return values, legal

    def _keep(self, obs: dict, infos: dict, able: list[str]) -> None:
        """Note what agents see, and what those that are `able` to act can do."""
        raise NotImplementedError(f"{type(self).__name__} keeps no observations")

    def global_state(self) -> np.ndarray | None:
        """The environment's own state, float32 `[size]`; None if it has none, or is not asked for it. Raises
        InvalidEnvironmentError: it is not made of plain numbers, or of another number of them than before."""
        if not self._uses_own:
            return None
        try:
            state = self._env.state()
        except (AttributeError, NotImplementedError, TypeError):  # some have an attribute of that name
            state = None
        if state is None and not self._own_size:
            self._uses_own = False
            return None
        try:
            array = np.asarray(state)
        except ValueError:  # parts of unequal lengths
            array = np.asarray(None)
        if array.dtype.kind not in NUMBERS:
            raise self._fault(f"state() is {quoted(state)}, and not an array of numbers. {WITHOUT_STATE}")
        if self._own_size is None:
            self._own_size = array.size
        if array.size != self._own_size:
            raise self._fault(f"state() has {array.size} numbers; at first it had {self._own_size}. {WITHOUT_STATE}")
        return array.astype(np.float32).reshape(-1)

    def together(self, rewards: Any, how: str) -> Any:
        """The rewards of agents as one, by `how` of `REWARDS`; one that they have in common counts once."""
        return REWARDS["mean" if getattr(self._env, "shares_reward", False) else how](rewards)

    def info_of(self, step: Step) -> dict[str, Any]:
        """What the environment says at the end of an episode: `<agent>_<key>` of each agent, and what it says of all.

        Masks of legal actions are left out.
        """
        if not step.ended:
            return {}
        said = flat(getattr(self._env, "info", {}), but=MASK)
        said |= {
            f"{agent}_{key}": value for agent, info in step.infos.items() for key, value in flat(info, MASK).items()
        }
        return without_meaning(said)

    def _fault(self, what: str) -> InvalidEnvironmentError:
        return InvalidEnvironmentError(f"env_args.key={self._key}, {moment(self._steps)}: {what}.")

    def try_out(self, steps: int, seconds: float) -> str | None:
        """Play at random for a moment, which shows at once what would end a run later.

        Args:
            steps, seconds: the most of them.

        Returns:
            the first number beyond the bounds of an observation, in words, or None.

        Raises:
            InvalidEnvironmentError: as `_keep`, or the environment raises an error.
        """
        rng, begin, beyond, left, vector = np.random.default_rng(0), time.monotonic(), None, steps, None
        self._ended = True
        while left > 0 and time.monotonic() - begin < seconds:
            try:
                if self._ended:
                    obs, infos = self.begin()
                    able = self._env.agents
                else:
                    actions = {name: one.random_action(self._legal[name], rng) for name, one in self.players.items()}
                    obs, rewards, _, infos, able, *_ = self.play(actions)
                    left -= 1
                    vector = next((agent for agent, reward in rewards.items() if np.size(reward) != 1), None)
            except Exception as error:
                raise self._fault(in_words(error)) from error
            if vector is not None:
                raise self._fault(
                    f"the reward of {vector} is {quoted(rewards[vector])}, and not one number. Wrap the game in a file "
                    "of yours so that it is (env_args.key=mine.py:make)"
                )
            self._keep(obs, infos, able)
            beyond = beyond or self._beyond(obs)
        return beyond

    def _beyond(self, obs: dict) -> str | None:
        for agent in obs:
            if agent in self.players and (
                what := self.players[agent].beyond(self.players[agent].plain(obs[agent], {})[0])
            ):
                return (
                    f"env_args.key={self._key}, {moment(self._steps)}: what {agent} sees is beyond its bounds: {what}"
                )
        return None

    def forget_episode(self, seed: int | None) -> None:
        """An episode that was started to learn sizes is not one of the run's."""
        self._seed = seed
        self._ended = True

    def state_dict(self) -> dict[str, Any]:
        """At any time, of the particle environments (package mpe2); see `MultiAgentEnv`.

        Their episodes depend on their generator and the actions only, so an episode is played again up to where it
        was. For other environments that is unknown.
        """
        if not self._repeats:
            raise NotImplementedError("PettingZoo environments cannot be saved, except those of mpe2")
        if not self._ended:
            return {**self._start, "actions": [dict(chosen) for chosen in self._played]}
        return {**self._beginning(), "actions": None}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._seed, self._ended = state["seed"], True
        self._env.unwrapped.np_random.bit_generator.state = state["generator"]
        if state["actions"] is None:
            return
        now = (*self.begin(), self._env.agents)
        for chosen in state["actions"]:
            step = self.play(chosen)
            now = step.obs, step.infos, step.able
        self._keep(*now)

    def _beginning(self) -> dict[str, Any]:
        """What the next episode depends on."""
        return {"seed": self._seed, "generator": self._env.unwrapped.np_random.bit_generator.state}

    def snapshot(self) -> dict:
        """Of particle environments, the agents and landmarks; others do not say where anything is."""
        return particles(self.world(), self._agents)

    def scene(self) -> dict:
        return {"bounds": [-1.2, -1.2, 1.2, 1.2]}

    def world(self) -> Any:
        """Of particle environments, where everything is. Raises NotImplementedError: it is another environment."""
        world = getattr(self._env.unwrapped, "world", None)
        if not hasattr(world, "landmarks"):
            raise NotImplementedError(
                f"{self._env.unwrapped} does not expose the positions of its agents, so it has no snapshots"
            )
        return world

    def seed(self, seed: int | None = None) -> None:
        self._seed = seed

    def render(self) -> Any:
        return self._env.render()

    def close(self) -> None:
        self._env.close()


def _of(agents: set[str], part: Mapping[str, Any]) -> dict[str, Any]:
    return {agent: value for agent, value in part.items() if agent in agents}
