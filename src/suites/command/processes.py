"""The processes of a suite's runs, which launchers call as `src/suite.py serve`, `task` or `keep`."""

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Iterable, Sequence

from suites.command.runs import is_current
from suites.launch.fork_server import ForkServer
from suites.launch.fork_server import serve as serve_runs
from suites.launch.tasks import ray_task, slurm_task
from suites.state.runs import FAILED
from suites.state.table import last_line
from utils.errors import ConfigError, MusterError
from utils.own_modules import SOURCE, door_command

MAIN = door_command("main")


def fork_server(environments: Iterable[str], cold: bool, environment: dict[str, str]) -> ForkServer:
    """Start one, which has imported everything and compiled these environments; `cold`: runs are new interpreters."""
    command = [*door_command("suite"), "serve", *(["--cold"] if cold else environments)]
    return ForkServer(command, environment)


def require_fork(word: str) -> None:
    """Raises: ConfigError: this system cannot start the processes of a command of suite.py."""
    if not hasattr(os, "fork"):
        raise ConfigError(
            f"suite.py {word} forks a process for each run, which this system cannot. On Windows, use WSL 2."
        )


def serve(words: Sequence[str]) -> int | None:
    """Be the fork server, or one of the processes that it forks; return the exit code."""
    if list(words) == ["--cold"]:
        return serve_runs(_execute, lambda: None)
    return serve_runs(_call, lambda: _import_everything(words))


def keep(words: Sequence[str]) -> None:
    """Be the supervisor of a run that a task of Ray's starts; raises as `ray_task`."""
    ray_task(words, MAIN, is_current)


def task(words: Sequence[str]) -> None:
    """Be one task of an array of SLURM's.

    Raises:
        MusterError: a run of it has failed, or the config of its only one has changed since.
    """
    ended = slurm_task(words, MAIN, is_current)
    if failed := [attempt for attempt in ended if attempt.state == FAILED]:
        raise MusterError("\n".join(f"{one.run} has failed: {last_line(one.error)}" for one in failed))


def _execute(words: list[str]) -> None:
    os.execv(MAIN[0], [*MAIN, *words])


def _call(words: list[str]) -> None:
    import numpy as np

    import main

    np.random.seed()  # as in a new interpreter: all runs would begin with the fork server's state
    sys.argv = [str(SOURCE / "main.py"), *words]
    main._start()
    code = main.main()
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # the interpreter would take everything apart, for which it copies all that this process shares with the fork server
    os._exit(code)


def _import_everything(environments: Iterable[str]) -> None:
    """What every run imports, or asks for once a process."""

    import git  # noqa: F401 - Sacred asks it for the commit

    import cli.experiment  # noqa: F401
    import run  # noqa: F401
    from checks.registries import REGISTRIES
    from utils.config.merging import config_path
    from utils.files.yaml_files import load_yaml
    from utils.processes.code_version import code_version
    from vector_envs.instances import constructor_of

    code_version()
    for kind, registry in REGISTRIES.items():
        for name in registry if kind != "env" else ():
            with contextlib.suppress(ImportError, MusterError):
                registry[name]
    for config in environments:
        # a run that needs what is missing says so better
        with contextlib.suppress(Exception):
            environment = load_yaml(config_path(config, "envs"))
            prepare = getattr(constructor_of(REGISTRIES["env"][environment["env"]]), "prepare", None)
            if prepare is not None:
                prepare(**environment["env_args"])
