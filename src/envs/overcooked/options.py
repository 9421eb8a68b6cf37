"""The arguments, with PyMARLzoo+'s names."""

from dataclasses import dataclass

from envs.compiled.team_game import TeamOptions
from envs.contract.arguments import require_choice
from envs.contract.reaches import OF_ALL, nowhere
from envs.overcooked.layouts import ENDING, Layout, layout_of
from utils.config.reach import Reach, whole_path
from utils.errors import ConfigError
from utils.plain_values import quoted

REWARD_TYPES = ("sparse", "shaped", "both")


def _lasting(key: object) -> object:
    """The name of a kitchen stays; a file's gets a whole path."""
    return whole_path(key) if str(key).endswith(ENDING) else key


REACHES = {**OF_ALL, **nowhere("time_limit reward reward_type render"), "key": Reach("", lasting=_lasting)}


@dataclass
class Options(TeamOptions):
    """Constructor arguments; `about` has their meaning."""

    time_limit: int = 500
    key: str = "cramped_room"
    reward_type: str = "sparse"
    render: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("env_args.reward_type", self.reward_type, REWARD_TYPES)
        if self.render is not False:
            raise ConfigError("env_args.render must be False: save_replay=True records games, and watch.py shows them.")
        if not isinstance(self.key, str):
            raise ConfigError(f"env_args.key is {quoted(self.key)}; it must be the name of a kitchen, or of a file.")
        self.layout()

    def layout(self) -> Layout:
        return layout_of(self.key)
