"""Run a script that imports entity-gym: `PYTHONPATH=src python -m envs.entities.entity_gym SCRIPT ARGUMENTS`."""

import os
import sys

from envs.entities.entity_gym_names import alias_entity_gym
from utils.errors import MusterError
from utils.own_modules import PREFIX


def main() -> None:
    """Run the script in this module's own namespace, so that processes which it starts do not run it again."""
    if len(sys.argv) < 2 or not os.path.isfile(sys.argv[1]):
        path = "" if PREFIX else "PYTHONPATH=src "
        print(f"usage: {path}python -m {__package__} SCRIPT [ARGUMENTS]", file=sys.stderr)
        sys.exit(2)
    alias_entity_gym()
    script = sys.argv[1]
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec")
    globals()["__file__"] = script
    try:
        exec(code, globals())
    except MusterError as error:  # its message is enough
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
