"""The verbs of the command `muster`: the other programs, and options of main.py that are commands of their own."""

import importlib
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from utils import own_commands
from utils.console import fitted, terminal_width
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.own_modules import HOME, own_name
from utils.plain_values import quoted

# the program of verbs that no other program has
COMMAND = "command"


class Verb(NamedTuple):
    """What `muster VERB` is.

    Attributes:
        argument: as the help page shows it.
        description: for the same page.
        program: of `src/`.
        option: of main.py, whose value is the word after the verb; "": the words are the program's.
    """

    argument: str
    description: str
    program: str = "main"
    option: str = ""


VERBS = {
    "watch": Verb("RUN", "play a run's best model and show it", "watch"),
    "resume": Verb("RUN", "as --resume=RUN; evaluate RUN, export RUN and list NAME alike", option="--resume"),
    "evaluate": Verb("RUN", "", option="--evaluate"),
    "export": Verb("RUN", "", option="--export"),
    "list": Verb("[NAME]", "", option="--list"),
    "browse": Verb("", "open the runs in the web browser", "browse"),
    "report": Verb("", "one HTML file of runs, and figures for papers", "report"),
    "doctor": Verb("RUN", "why it does not learn", "doctor"),
    "probe": Verb("", "six tiny games that show what a learner lacks", "probe"),
    "diagnose": Verb("RUN", "its times, monitored values and machine", "diagnose"),
    "suite": Verb("run FILE", "many runs by one command", "suite"),
    "search": Verb("", "grids of values in EPyMARL's form", "search"),
    "data": Verb("FOLDER", "what a data set has; in other formats", "data_set"),
    "play": Verb("GAME", "a game yourself; --cross: models of runs", "play"),
    "clone": Verb("FOLDER", "a policy that does what a recording shows", "clone"),
    "replay": Verb("FILE", "a replay as GIF or MP4, a race's way as a track", "replay"),
    "convert": Verb("FOLDER", "a model of the weights that Linesight saved", "convert"),
    "pip": Verb("WORDS", "pip of Muster's own Python, to install extras", COMMAND),
    "completion": Verb("SHELL", "the script that lets bash, zsh or fish complete", COMMAND),
}
# Sacred's commands, which stand where verbs do
OF_SACRED = ("print_config", "save_config", "print_dependencies", "print_named_configs", "help")
SHELLS = ("bash", "zsh", "fish")


def main_words(words: list[str]) -> list[str] | None:
    """The words of main.py for those of the command; None: they are another program's.

    Raises:
        ConfigError: there is no such verb, or it lacks its first word.
    """
    first = words[0] if words else ""
    if not first or first.startswith("-") or first == "with" or first in OF_SACRED:
        return words
    if first not in VERBS:
        raise ConfigError(
            f"There is no command '{quoted(first)}'.{suggestion(first, VERBS)} See python src/main.py --help."
        )
    verb = VERBS[first]
    if not verb.option:
        return None
    if words[1:2] in (["--help"], ["-h"]):
        return ["--help"]
    value = words[1:2] if words[1:] and not words[1].startswith("-") and words[1] != "with" else []
    if not value and not verb.argument.startswith("["):
        raise ConfigError(
            f"{first} needs a run: its Sacred id, its token, its folder, or latest, as in {first} latest."
        )
    rest = words[1 + len(value) :]
    return [f"{verb.option}={value[0]}", *rest] if value else [verb.option, *rest]


def run_program(words: list[str]) -> int:
    """Run the program of the verb that is the first word; return its exit code."""
    module = importlib.import_module(own_name(VERBS[words[0]].program))
    return module.main(words[1:])


def run_pip(words: list[str]) -> int:
    """Run the pip of this process's Python; return its exit code.

    The files of requirements that messages name are found from any folder.
    """
    given = [
        str(HOME / word) if before == "-r" and not Path(word).exists() and (HOME / word).is_file() else word
        for before, word in pairwise(["", *words])
    ]
    return subprocess.run([sys.executable, "-m", "pip", *given], check=False).returncode


def completion_script(words: list[str]) -> str:
    """The script for a shell to read, by which it asks the command for completions; or how to get it (--help).

    Raises:
        ConfigError: there is no such shell, or argcomplete is not installed.
    """
    if words in (["--help"], ["-h"]):
        word = os.environ.get(own_commands.VARIABLE, "muster")
        said = "prints the script that lets a shell complete words; in a start-up file of the shell, to have it always"
        ways = f'  eval "$({word} completion bash)"    # or zsh\n  {word} completion fish | source\n'
        return fitted(f"usage: {word} completion SHELL\n\n{said}:\n{ways}", terminal_width(sys.stdout))
    if len(words) != 1 or words[0] not in SHELLS:
        hint = suggestion(words[0], SHELLS) if words else f" It is one of {', '.join(SHELLS)}."
        raise ConfigError(f"completion needs the name of your shell.{hint}")
    try:
        import argcomplete
    except ModuleNotFoundError:
        raise ConfigError(
            "Completion needs the package 'argcomplete', which is not installed. Install it with: "
            "pip install -r requirements-completion.txt"
        ) from None
    return argcomplete.shellcode(["muster"], shell=words[0])


def verb_lines(by_verbs: bool) -> str:
    """The verbs for the help page, as the programs of `src/` (`python src/watch.py RUN`) or as verbs (`watch RUN`)."""
    lines = {}
    for name, verb in VERBS.items():
        if not verb.description or (not by_verbs and (verb.option or verb.program == COMMAND)):
            continue
        lines[f"{name} {verb.argument}" if by_verbs else f"python src/{verb.program}.py {verb.argument}"] = (
            verb.description
        )
    width = max(map(len, lines))
    return "".join(f"  {words:<{width}} {description}\n" for words, description in lines.items())
