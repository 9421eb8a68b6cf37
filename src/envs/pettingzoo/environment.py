"""The two forms of PettingZoo's environments under one name."""

import logging
from typing import Any

from envs.contract.arguments import require_choice
from envs.contract.rewards_by_agent import RewardsByAgent
from envs.contract.validation import InvalidEnvironmentError
from envs.pettingzoo.declared import EACH, PettingZooGroups, UnlikeAgentsError
from envs.pettingzoo.game import OWN, REWARDS, STATES
from envs.pettingzoo.team import OtherActionsError, PettingZooEnv, PicturesError
from envs.pettingzoo.zoo import arguments_of
from utils.errors import ConfigError

log = logging.getLogger("muster")
# of the random play before a run
TRIED_STEPS, TRIED_SECONDS = 200, 2.0
# arguments whose environments were played
_TRIED: set[str] = set()


class PettingZoo:
    """Makes a `PettingZooEnv`, PyMARL's one team with one reward, if agents have one choice each, see no pictures of
    bytes, and neither groups nor a reward for each agent are asked for; else a `PettingZooGroups`, which has the
    arguments. Unequal agents with a reward for each are a team all the same, padded to the largest. The words after
    `state` are PyMARLzoo+'s (`zoo`)."""

    def __new__(  # type: ignore[misc]
        cls,
        key: str = "mpe2.simple_spread_v3",
        time_limit: int = 25,
        kwargs: dict | list | str | None = None,
        reward: str = "sum",
        groups: Any = None,
        seed: int | None = None,
        state: str = OWN,
        render_mode: str | None = None,
        trainable_cnn: bool | None = None,
        partial_observation: bool | None = None,
        image_encoder: str | None = None,
        image_encoder_batch_size: int | None = None,
        image_encoder_use_cuda: bool | None = None,
        centralized_image_encoding: bool | None = None,
    ) -> PettingZooEnv | PettingZooGroups | RewardsByAgent:
        kwargs = arguments_of(
            kwargs,
            {
                "render_mode": render_mode,
                "trainable_cnn": trainable_cnn,
                "partial_observation": partial_observation,
                "image_encoder": image_encoder,
                "image_encoder_batch_size": image_encoder_batch_size,
                "image_encoder_use_cuda": image_encoder_use_cuda,
                "centralized_image_encoding": centralized_image_encoding,
            },
        )
        if groups is None and reward != EACH:
            try:
                return PettingZooEnv(key, time_limit, kwargs, reward, seed, state, flat=False)
            except (OtherActionsError, PicturesError):
                pass
        try:
            return PettingZooGroups(key, time_limit, kwargs, reward, groups, seed, state)
        except UnlikeAgentsError as unlike:
            if groups is not None:
                raise
            try:
                env = PettingZooEnv(key, time_limit, kwargs, "sum" if reward == EACH else reward, seed, state)
            except OtherActionsError:
                raise unlike from None
            return RewardsByAgent(env) if reward == EACH else env

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        """Refuse bad arguments before a run starts, and an environment that would not get through one.

        It is played at random for a moment, once in a process.
        """
        require_choice("env_args.reward", env_args.get("reward", "sum"), (*REWARDS, EACH))
        require_choice("env_args.state", env_args.get("state", OWN), STATES)
        this = repr(sorted((key, value) for key, value in env_args.items() if key != "seed"))
        if this in _TRIED:
            return
        try:
            beyond = _beyond_in_play(cls(**{**env_args, "seed": 0}))
        except InvalidEnvironmentError as error:
            raise ConfigError(f"A short random play before the run: {error}") from error
        if beyond:
            log.warning(f"{beyond}. Nothing is scaled by these bounds, so the run is not affected.")
        _TRIED.add(this)


def _beyond_in_play(env: PettingZooEnv | PettingZooGroups | RewardsByAgent) -> str | None:
    try:
        game = env.game if isinstance(env, RewardsByAgent) else env
        return game.try_out(TRIED_STEPS, TRIED_SECONDS)
    finally:
        env.close()
