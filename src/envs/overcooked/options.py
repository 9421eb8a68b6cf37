"""The arguments, with PyMARLzoo+'s names."""

from dataclasses import dataclass

from envs.compiled.team_game import TeamOptions
from envs.contract.arguments import require_choice
from envs.contract.reaches import OF_ALL, nowhere
from envs.overcooked.layouts import Layout, layout_of
from utils.errors import ConfigError

REWARD_TYPES = ("sparse", "shaped", "both")
REACHES = {**OF_ALL, **nowhere("key time_limit reward reward_type render")}


@dataclass
class Options(TeamOptions):
    """
    Args:
        key: a kitchen's name, or a file in Overcooked-AI's form, `mine.layout`.
        reward_type: "sparse": soups; "shaped": steps towards them, without the soups, as in PyMARLzoo+; "both".
        render: False.
    """

    time_limit: int = 500
    key: str = "cramped_room"
    reward_type: str = "sparse"
    render: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("env_args.reward_type", self.reward_type, REWARD_TYPES)
        if self.render is not False:
            raise ConfigError("env_args.render must be False: save_replay=True records games, and watch.py shows them.")
        self.layout()

    def layout(self) -> Layout:
        return layout_of(self.key)
