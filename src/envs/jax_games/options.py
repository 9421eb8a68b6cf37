"""The arguments of environments that are written in JAX."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from envs.compiled.team_game import REWARDS, TeamOptions
from envs.contract.arguments import LARGEST, require_choice, require_number
from envs.contract.reaches import OF_ALL, before_colon, importing, nowhere
from utils.errors import ConfigError
from utils.plain_values import quoted

EXAMPLES = "env_args.key=smax-3m, env_args.key=jaxmarl:MPE_simple_spread_v3 or env_args.key=jumanji:Cleaner-v0"


@dataclass
class JaxOptions(TeamOptions):
    """Constructor arguments; `about` has their meaning."""

    time_limit: int | None = None  # type: ignore[assignment]
    key: str | None = None
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.key or not isinstance(self.key, str):
            raise ConfigError(
                f"env_args.key is missing. It names an environment written in JAX, such as {EXAMPLES}. "
                "python src/main.py --list jax shows what there is."
            )
        self.kwargs = {} if self.kwargs is None else self.kwargs
        if not isinstance(self.kwargs, Mapping):
            raise ConfigError(f"env_args.kwargs is {quoted(self.kwargs)}; it must be a mapping of arguments.")
        if self.time_limit is not None:
            require_number("env_args.time_limit", self.time_limit, 1, LARGEST - 1, whole=True)
        require_choice("env_args.reward", self.reward, REWARDS)


def _module_of(key: str) -> str:
    """The user's module in a key; "": it is one of the packages'."""
    module = before_colon(key)
    return "" if module in ("jaxmarl", "jumanji") else module


REACHES = {**OF_ALL, **importing("key", _module_of), **nowhere("time_limit reward")}
