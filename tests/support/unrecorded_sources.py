"""Imported by a process, Sacred records no sources of its runs: to hash and copy 700 takes longer than a short run.

Runs of a real interpreter have them (`tests/integration/test_command_line.py`). git is asked once for the commit.
"""

from functools import cache

from sacred import dependencies

OF_THE_FOLDER = dependencies.source_discovery_strategies["dir"]
dependencies.source_discovery_strategies["dir"] = dependencies.source_discovery_strategies["none"]
dependencies.get_commit_if_possible = cache(dependencies.get_commit_if_possible)
