"""`suite.py run --launcher=ray`, and the keepers of its runs: `src/suite.py keep`, which tasks of Ray's call."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from suites.command.runs import is_current
from suites.command.starter import SRC
from suites.launch.launcher import Launcher, Work
from suites.launch.one_run import keep_one
from suites.launch.ray_launcher import RayLauncher, needed
from utils.errors import ConfigError
from utils.processes.ray_cluster import RayCluster, require_ray


def require_for_launcher() -> None:
    """Raises: ConfigError: Ray is not installed."""
    require_ray("--launcher=ray")


def ray_launcher(work: Work, resources: Mapping[str, Any], options: argparse.Namespace) -> Launcher:
    """A launcher that is connected to its cluster.

    Raises:
        ConfigError: there is no such cluster, or a cluster of this machine alone has no room for a run.
    """
    wanted = needed(resources)
    jobs = options.jobs or resources["jobs"]
    # a cluster of our own offers what the command line asks for
    cluster = RayCluster(options.address, jobs * max(int(wanted["cpus"]), 1) or None)
    if not cluster.has_room(**wanted):
        asked = ", ".join(f"{amount:g} {name}" for name, amount in wanted.items() if amount)
        if cluster.own:
            cluster.close()
            raise ConfigError(f"resources: this machine has no room for a run: {asked}.")
        print(f"No machine of the cluster has room for a run ({asked}): they wait until one joins.", file=sys.stderr)
    program = [str(SRC / "suite.py"), "keep"]
    return RayLauncher(work, cluster, resources, jobs, program, options.lease)


def keep(words: Sequence[str]) -> None:
    """Be the keeper of one run.

    Raises:
        MusterError: its config has changed since it was frozen.
    """
    keep_one(words, [sys.executable, str(SRC / "main.py")], is_current)
