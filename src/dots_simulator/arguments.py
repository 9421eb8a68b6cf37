"""The command line of a simulator."""

import argparse
import sys
import tempfile
from pathlib import Path

from dots_simulator.layout import EDITOR_FILE, FOLDER, MEMORY_ARGUMENT
from dots_simulator.trainer_watch import was_left_behind


def parse_arguments(description: str, agents: int) -> argparse.Namespace:
    """What a trainer starts a simulator with: `memory_path`, and the numbers `agents` and `seed`.

    Args:
        description: for --help.
        agents: unless the command line says another number.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument(
        MEMORY_ARGUMENT, help="the trainer's file; without it: that of a trainer that waits for editors"
    )
    parser.add_argument("--agents", type=int, default=agents, help=f"how many there are (default: {agents})")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default: 0)")
    arguments = parser.parse_args()
    if not 1 <= arguments.agents <= 10_000:
        parser.error(f"--agents is {arguments.agents}; it must be 1 to 10000")
    if arguments.seed < 0:
        parser.error(f"--seed is {arguments.seed}; it must be 0 or more")
    try:
        find_memory(arguments.memory_path)
    except FileNotFoundError as error:
        parser.error(str(error))
    return arguments


def find_memory(memory_path: str | None = None) -> Path:
    """The first file of a trainer.

    Args:
        memory_path: a path, or a name in the folder `<temp>/ml-agents`. None: the one of the command line, or else the
            file of a trainer that waits for editors.

    Raises:
        FileNotFoundError: there is no trainer.
    """
    if memory_path is None and MEMORY_ARGUMENT in sys.argv[:-1]:
        memory_path = sys.argv[sys.argv.index(MEMORY_ARGUMENT) + 1]
    path = Path(tempfile.gettempdir(), FOLDER, memory_path or EDITOR_FILE)
    if not path.is_file():
        asked = f"of {MEMORY_ARGUMENT} " if memory_path else f"without {MEMORY_ARGUMENT} "
        raise FileNotFoundError(f"no trainer waits for this simulator: the file {asked}is {path}, which is missing")
    if was_left_behind(path):
        raise FileNotFoundError(f"no trainer waits for this simulator: the one that made {path} has ended")
    return path
