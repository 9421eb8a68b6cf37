"""Imported by a process, Sacred records no sources of its runs: to hash and copy 700 takes longer than a short run.

Runs of a real interpreter have them (`tests/integration/test_command_line.py`). git is asked once for the commit. And
Sacred looks at its caller only: to find the source of every function under way, of pytest's too, takes 10 ms a run.
"""

import sys
from functools import cache
from types import SimpleNamespace

from sacred import dependencies, experiment

OF_THE_FOLDER = dependencies.source_discovery_strategies["dir"]
dependencies.source_discovery_strategies["dir"] = dependencies.source_discovery_strategies["none"]
dependencies.get_commit_if_possible = cache(dependencies.get_commit_if_possible)
experiment.inspect = SimpleNamespace(stack=lambda: [None, (sys._getframe(2),)])
