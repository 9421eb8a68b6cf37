"""The arguments of the three games, with PyMARLzoo+'s names and defaults."""

from dataclasses import dataclass

from envs.compiled.team_game import TeamOptions
from envs.contract.arguments import require_choice, require_number
from envs.contract.reaches import OF_ALL, nowhere
from utils.errors import ConfigError

PRESSURE_PLATES = {f"pressureplate-linear-{n}p-v0": n for n in (4, 5, 6)}  # key -> agents
CAPTURE_TARGETS = ("CaptureTarget-6x6-1t-2a-v0",)
BOX_PUSHINGS = ("BoxPushing-6x6-2a-v0",)
_SHARED = "key time_limit reward render"
PRESSURE_PLATE_REACHES = {**OF_ALL, **nowhere(f"{_SHARED} agents_layer")}
CAPTURE_TARGET_REACHES = {
    **OF_ALL,
    **nowhere(f"{_SHARED} obs_one_hot target_flick_prob tgt_avoid_agent tgt_trans_noise agent_trans_noise"),
}
BOX_PUSHING_REACHES = {**OF_ALL, **nowhere(f"{_SHARED} random_init starts_inside")}


def refuse_render(render: bool) -> None:
    """PyMARLzoo+'s argument opens a window. Raises ConfigError: it is not False."""
    if render is not False:
        raise ConfigError("env_args.render must be False: save_replay=True records games, and watch.py shows them.")


def _require_truths(options: object, *names: str) -> None:
    for name in names:
        require_choice(f"env_args.{name}", getattr(options, name), (True, False))


@dataclass
class PressurePlateOptions(TeamOptions):
    """Constructor arguments; `about` has their meaning."""

    time_limit: int = 500
    key: str = "pressureplate-linear-4p-v0"
    agents_layer: str = "starts"
    render: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("env_args.key", self.key, PRESSURE_PLATES)
        require_choice("env_args.agents_layer", self.agents_layer, ("starts", "now"))
        refuse_render(self.render)


@dataclass
class CaptureTargetOptions(TeamOptions):
    """Constructor arguments; `about` has their meaning."""

    time_limit: int = 60
    key: str = CAPTURE_TARGETS[0]
    obs_one_hot: bool = False
    target_flick_prob: float = 0.3
    tgt_avoid_agent: bool = True
    tgt_trans_noise: float = 0.0
    agent_trans_noise: float = 0.1
    render: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("env_args.key", self.key, CAPTURE_TARGETS)
        _require_truths(self, "obs_one_hot", "tgt_avoid_agent")
        for name in ("target_flick_prob", "tgt_trans_noise", "agent_trans_noise"):
            require_number(f"env_args.{name}", getattr(self, name), 0, 1)
        refuse_render(self.render)


@dataclass
class BoxPushingOptions(TeamOptions):
    """Constructor arguments; `about` has their meaning."""

    time_limit: int = 60
    key: str = BOX_PUSHINGS[0]
    random_init: bool = True
    starts_inside: bool = False
    render: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("env_args.key", self.key, BOX_PUSHINGS)
        _require_truths(self, "random_init", "starts_inside")
        refuse_render(self.render)
