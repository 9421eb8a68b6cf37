"""Imported by a process, YAML files with equal text are parsed once: PyYAML is slow, and tests read the same ones."""

import copy
from functools import cache

from utils.files import yaml_files

_parsed_once = cache(yaml_files._parsed)
yaml_files._parsed = lambda path, text: copy.deepcopy(_parsed_once(path, text))
