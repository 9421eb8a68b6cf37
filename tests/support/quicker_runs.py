"""Imported by a process, its runs do once, or not at all, what takes longer than a short run.

YAML files with equal text are parsed once: PyYAML is slow, and tests read the same ones. Sacred records no sources: to
hash and copy 700 takes longer than a short run; runs of a real interpreter have them
(`tests/integration/test_command_line.py`). git is asked once for the commit. And Sacred looks at its caller only: to
find the source of every function under way, of pytest's too, takes 10 ms a run.
"""

import copy
import sys
from functools import cache
from types import SimpleNamespace

from utils.files import yaml_files
from utils.old_sacred import let_sacred_be_imported

let_sacred_be_imported()

from sacred import dependencies, experiment  # noqa: E402

_parsed_once = cache(yaml_files._parsed)
yaml_files._parsed = lambda path, text: copy.deepcopy(_parsed_once(path, text))

OF_THE_FOLDER = dependencies.source_discovery_strategies["dir"]
dependencies.source_discovery_strategies["dir"] = dependencies.source_discovery_strategies["none"]
dependencies.get_commit_if_possible = cache(dependencies.get_commit_if_possible)
experiment.inspect = SimpleNamespace(stack=lambda: [None, (sys._getframe(2),)])
