"""`UnityEnvironment` with the constructor of `mlagents_envs.environment`, whose order is another than that of DOTS."""

from collections.abc import Sequence

from envs.dots.api import unity_environment
from envs.dots.side_channels import SideChannel


class UnityEnvironment(unity_environment.UnityEnvironment):
    """A simulator of DOTS, for scripts that were written for mlagents_envs.

    Args:
        worker_id, base_port, seed, log_folder, no_graphics_monitor, num_areas: accepted, and of no effect.
        file_name, no_graphics, timeout_wait, additional_args, side_channels: as of
            `unity_environment.UnityEnvironment`.
    """

    def __init__(
        self,
        file_name: str | None = None,
        worker_id: int = 0,
        base_port: int | None = None,
        seed: int = 0,
        no_graphics: bool = False,
        no_graphics_monitor: bool = False,
        timeout_wait: float = 60,
        additional_args: Sequence[str] | None = None,
        side_channels: Sequence[SideChannel] | None = None,
        log_folder: str | None = None,
        num_areas: int = 1,
    ):
        super().__init__(file_name, side_channels, additional_args, timeout_wait, no_graphics=no_graphics)
