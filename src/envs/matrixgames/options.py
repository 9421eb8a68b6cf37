"""The arguments: an id of the package."""

from dataclasses import dataclass

from envs.compiled.team_game import TeamOptions
from envs.contract.arguments import LARGEST, require_number
from envs.matrixgames.payoffs import payoffs_of


@dataclass
class Options(TeamOptions):
    """
    Args:
        key: an id of the package, without its module.
        ep_length: the package's limit; as `time_limit`.
    """

    key: str = "climbing-nostate-v0"
    ep_length: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        payoffs_of(self.key)
        require_number("env_args.ep_length", self.ep_length, 1, LARGEST, whole=True)
