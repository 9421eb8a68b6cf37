"""The two forms of PettingZoo's environments under one name."""

from typing import Any

from envs.pettingzoo.declared import EACH, PettingZooGroups
from envs.pettingzoo.team import REWARDS, OtherActionsError, PettingZooEnv
from utils.errors import ConfigError
from utils.nearest import suggestion


class PettingZoo:
    """Makes a `PettingZooEnv`, PyMARL's one team with one reward, if agents have one choice each and neither groups nor
    a reward for each agent are asked for; else a `PettingZooGroups`, which has the arguments."""

    def __new__(
        cls,
        key: str = "mpe2.simple_spread_v3",
        time_limit: int = 25,
        kwargs: dict | None = None,
        reward: str = "sum",
        groups: Any = None,
        seed: int | None = None,
    ) -> PettingZooEnv | PettingZooGroups:
        if groups is None and reward != EACH:
            try:
                return PettingZooEnv(key, time_limit, kwargs, reward, seed)
            except OtherActionsError:
                pass
        return PettingZooGroups(key, time_limit, kwargs, reward, groups, seed)

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        """Refuse bad arguments before a run starts."""
        if (reward := env_args.get("reward", "sum")) not in (*REWARDS, EACH):
            raise ConfigError(f"env_args.reward is '{reward}'.{suggestion(reward, (*REWARDS, EACH))}")
        if env_args.get("groups") is None and reward != EACH:
            PettingZooEnv.check_args(**env_args)
        else:
            cls(**env_args).close()
