"""Runs a script that was written for ML-Agents' packages, without them: python -m envs.dots.api SCRIPT ARGUMENTS ..."""

import importlib
import logging
import runpy
import sys
from pathlib import Path

from envs.dots.api.module_names import OURS, alias_ml_agents
from utils.own_modules import own_name

USAGE = f"usage: python -m {__package__} SCRIPT [ARGUMENT ...]"
# the first version's loose scripts
LOOSE, BESIDE_IT = "unity_environment", "shared_memory_communicator.py"


def main(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if words else 2
    script = Path(words[0])
    if not script.is_file():
        print(f"There is no script {script}. {USAGE}", file=sys.stderr)
        return 2
    alias_ml_agents()
    _show_what_muster_logs()
    folder = script.resolve().parent
    if (folder / BESIDE_IT).is_file():  # an example in its own repository: who runs it by this command wants ours
        sys.modules[LOOSE] = importlib.import_module(own_name(OURS[LOOSE]))
    sys.argv = list(words)
    sys.path.insert(0, str(folder))
    runpy.run_path(str(script), run_name="__main__")
    return 0


def _show_what_muster_logs() -> None:
    """Such as that it waits for an editor; the script's own logging stays the script's."""
    log, handler = logging.getLogger("muster"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
