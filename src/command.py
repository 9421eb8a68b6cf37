"""The command `muster`: `muster --help` explains it.

`./muster` in the checkout runs this file; where Muster is installed, it is the console script. Its verbs are the other
programs (`cli/verbs.py`); without one it is `python src/main.py`.
"""

import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run this process's command line, and end the process."""
    from utils import own_commands

    words = sys.argv[1:]
    own_commands.call_it(os.environ.get(own_commands.VARIABLE) or own_commands.typed_name())
    if "_ARGCOMPLETE" in os.environ:
        from cli.completion import complete

        complete()
    from cli.command import run_command, start
    from cli.verbs import completion_script, main_words, run_pip, run_program

    found: list[list[str] | None] = []
    if code := run_command(lambda: found.append(main_words(words)), "nothing has started."):
        sys.exit(code)
    if found[0] is not None:
        from main import be_process

        be_process(found[0])
    if words[0] == "pip":
        sys.exit(run_pip(words[1:]))
    if words[0] == "completion":
        sys.exit(run_command(lambda: print(completion_script(words[1:]), end=""), "nothing has started."))
    start(lambda: run_program(words))
    raise AssertionError("start ends the process")


if __name__ == "__main__":
    main()
