"""Where an environment of Gymnasium marks its legal actions."""

from collections.abc import Mapping
from typing import Any

from envs.contract.legal_actions import MASK, observation_without_mask, without_mask
from utils.errors import ConfigError

METHOD = "action_masks"


class MaskSource:
    """The first of three places that has them.

    The observation's part `action_mask`, as in PettingZoo and RLlib, which then is no part of `plain_space`; the method
    `action_masks()`, as in sb3-contrib, of the environment or a wrapper; the info's `action_mask`, as in Gymnasium.

    Args:
        env: with its wrappers.
        choices: whether there are any choices. If not, an observation's part of that name is like any other.

    Raises:
        ConfigError: wrappers have made an observation with a mask into another one, in which it is not to be found.
    """

    def __init__(self, env: Any, choices: bool):
        self._env, self.plain_space, self._in_observation = env, env.observation_space, False
        if choices:
            self.plain_space, self._in_observation = without_mask(env.observation_space)
        self._method = choices and not self._in_observation and env.has_wrapper_attr(METHOD)
        # whether it is known before the first reset
        self.known = self._in_observation or self._method
        if choices and not self.known and without_mask(env.unwrapped.observation_space)[1]:
            raise ConfigError(
                f"env_args.wrappers: {type(env).__name__} hides the observation's '{MASK}', so illegal actions would "
                f"be chosen. Leave that part as it is, or offer it by a method {METHOD}()."
            )

    @property
    def name(self) -> str:
        """The place, for messages."""
        if self._in_observation:
            return f"the observation's '{MASK}'"
        return f"{METHOD}()" if self._method else f"info['{MASK}']"

    def taken(self, seen: Any, info: Mapping[str, Any]) -> tuple[Any, Any]:
        """An observation without the mask, and the mask, or None."""
        if self._in_observation:
            return observation_without_mask(seen), seen.get(MASK)
        return seen, self._env.get_wrapper_attr(METHOD)() if self._method else info.get(MASK)
