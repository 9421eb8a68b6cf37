"""The arguments of a particle world."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from envs.compiled.team_game import TeamOptions
from envs.contract.arguments import require_choice, require_number
from envs.contract.reaches import OF_ALL, nowhere
from envs.particles.state import OPPONENTS, SCENARIOS
from utils.config.reach import Reach
from utils.errors import ConfigError

MOST = 100  # agents or landmarks of a kind
NEIGHBOURS = {"num_agent_neighbors": None, "num_landmark_neighbors": None}
# of a scenario, the words that it takes, and what they are if they are not given
WORDS: Mapping[str, Mapping[str, Any]] = {
    **{name: {} for name in SCENARIOS},
    "simple_spread": {"N": 3, "local_ratio": 0.5, "curriculum": False, "terminate_on_success": False, **NEIGHBOURS},
    "simple_adversary": {"N": 2, **NEIGHBOURS},
    "simple_tag": {
        "num_good": 1,
        "num_adversaries": 3,
        "num_obstacles": 2,
        "curriculum": False,
        "terminate_on_success": False,
        **NEIGHBOURS,
    },
    "simple_reference": {"local_ratio": 0.5},
    "simple_world_comm": {"num_good": 2, "num_adversaries": 4, "num_obstacles": 1, "num_food": 2, "num_forests": 2},
}
WITH_OPPONENT = ("simple_tag", "simple_adversary")
# EPyMARL's `pretrained_wrapper`: the scenario, and the opponent
WRAPPERS = {
    "FrozenTag": ("simple_tag", "frozen"),
    "RandomTag": ("simple_tag", "random"),
    "PretrainedTag": ("simple_tag", "rule"),
    "PretrainedAdversary": ("simple_adversary", "rule"),
}
LEAST = {"N": 1, "num_good": 1, "num_adversaries": 1, "num_obstacles": 0, "num_food": 1, "num_forests": 0}
LEAST |= dict.fromkeys(NEIGHBOURS, 1)


@dataclass
class Options(TeamOptions):
    """Where a default is None, the scenario has one or does not take the word: `WORDS`. `about` has the meaning of all.

    Continuous actions are five that move (none, x-, x+, y-, y+), then words.
    """

    time_limit: int = 25
    scenario: str = "simple_spread"
    N: int | None = None
    num_good: int | None = None
    num_adversaries: int | None = None
    num_obstacles: int | None = None
    num_food: int | None = None
    num_forests: int | None = None
    num_agent_neighbors: int | None = None
    num_landmark_neighbors: int | None = None
    local_ratio: float | None = None
    curriculum: bool | None = None
    terminate_on_success: bool | None = None
    continuous_actions: bool = False
    opponent: str | None = None
    dynamic_rescaling: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("env_args.scenario", self.scenario, SCENARIOS)
        mine = WORDS[self.scenario]
        for name in sorted({name for words in WORDS.values() for name in words}):
            if getattr(self, name) is None:
                setattr(self, name, mine.get(name))
            elif name not in mine:
                raise ConfigError(
                    f"env_args.{name}: {self.scenario} has no such argument; it has {', '.join(mine) or 'none'}."
                )
            elif name in LEAST:
                require_number(f"env_args.{name}", getattr(self, name), LEAST[name], MOST, whole=True)
            elif name == "local_ratio":
                require_number("env_args.local_ratio", self.local_ratio, 0.0, 1.0)
            else:
                require_choice(f"env_args.{name}", getattr(self, name), (True, False))
        if self.opponent is not None:
            require_choice("env_args.opponent", self.opponent, OPPONENTS)
            if self.scenario not in WITH_OPPONENT:
                raise ConfigError(
                    f"env_args.opponent={self.opponent}: {self.scenario} has none; {' and '.join(WITH_OPPONENT)} do."
                )
        for name in ("continuous_actions", "dynamic_rescaling"):
            require_choice(f"env_args.{name}", getattr(self, name), (True, False))


def opponent_of(wrapper: Any, scenario: str) -> str:
    """The opponent that a `pretrained_wrapper` of EPyMARL's makes. Raises ConfigError: it is unknown, or another
    scenario's."""
    require_choice("env_args.pretrained_wrapper", wrapper, tuple(WRAPPERS))
    its, opponent = WRAPPERS[wrapper]
    if scenario != its:
        raise ConfigError(
            f"env_args.pretrained_wrapper={wrapper} plays an agent of {its}, such as env_args.key=pz-mpe-"
            f"{its.replace('_', '-')}-v3; null: no wrapper."
        )
    return opponent


REACHES: Mapping[str, Reach] = {
    **OF_ALL,
    **nowhere(
        "time_limit reward scenario N num_good num_adversaries num_obstacles num_food num_forests "
        "num_agent_neighbors num_landmark_neighbors local_ratio "
        "curriculum terminate_on_success continuous_actions opponent dynamic_rescaling"
    ),
}
