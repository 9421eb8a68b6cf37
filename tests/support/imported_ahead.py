"""Imported by a server that forks a process for each run: what a run takes a second or two to import or compile."""

import gc

import git  # noqa: F401 - Sacred asks it for the commit
import hypothesis  # noqa: F401 - with pytest: by the files of tests whose functions are run
import numpy as np
import pytest  # noqa: F401

import cli.experiment
import cli.summary
import quicker_runs  # noqa: F401
import run  # noqa: F401
from checks.registries import REGISTRIES
from cli.compose import compose_config
from envs.skirmish.batch import BatchedSkirmish
from utils.processes.code_version import code_version

for registry in REGISTRIES.values():
    for name in registry:
        if not name.startswith("sc2"):
            registry[name]
code_version()
battles = BatchedSkirmish(batch_size=1, map_name="3m", seed=0)
battles.reset()
battles.step(np.ones((1, battles.n_agents), dtype=int))
# Sacred looks for the file of every module, which is then known
cli.experiment.build_experiment(compose_config("vdn", "two_step"))
# children share these pages: the garbage collector, which writes into what it looks at, would copy them
gc.collect()
gc.freeze()
