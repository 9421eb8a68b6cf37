"""Completion of words in a shell by argcomplete: verbs, options, configs, environments, runs, suites and keys."""

import argparse
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

import argcomplete
from argcomplete.lexers import split_line

from cli.arguments import FLAGS, NAMED
from cli.verbs import OF_SACRED, SHELLS, VERBS, run_program
from utils.command_line import OptionParser
from utils.config.merging import config_names, parameter_names

# how many words of the line come before those that argcomplete parses, and one
START = "_ARGCOMPLETE"
# of a run, as messages have them
SHOWN_RUNS = 100


def complete() -> NoReturn:
    """Print the completions of the line that the shell asks about, and end the process."""
    line, point = os.environ["COMP_LINE"], int(os.environ["COMP_POINT"])
    words = split_line(line, point)[3]
    start = int(os.environ[START])
    first = words[start] if len(words) > start else ""
    if first == "completion":
        _answer(_skipping(1), _words(SHELLS))
    elif first == "pip":
        _answer(_skipping(1), _words(("install",)))
    elif first in VERBS and not VERBS[first].option:
        # the first word after `suite` is one of its commands
        _skipping(2 if first == "suite" and len(words) > start + 1 else 1)
        OptionParser.before_parsing = _of_program
        run_program(words[start:])
    else:
        _answer(_skipping(1) if first in VERBS else _main_parser(), _words_of_main(first))
    os._exit(1)


def _skipping(count: int) -> argparse.ArgumentParser:
    """A parser of what comes after so many words of the command."""
    os.environ[START] = str(int(os.environ[START]) + count)
    return _main_parser()


def _answer(parser: argparse.ArgumentParser, completer: Callable) -> None:
    parser.add_argument("words", nargs="*").completer = completer  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, always_complete_options=False)


def _of_program(parser: OptionParser) -> None:
    """Answer with what a program's own parser takes."""
    for action in parser._actions:
        kind = str(action.metavar or "")
        if kind in ("RUN", "WHAT"):
            action.completer = _runs  # type: ignore[attr-defined]
        elif kind == "SUITE":
            action.completer = _suites  # type: ignore[attr-defined]
        elif found := _OF_OPTIONS.get(next(iter(action.option_strings), "")):
            action.completer = found  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, always_complete_options=False)


def _main_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="muster", add_help=False, allow_abbrev=False)
    for option in NAMED:
        action = parser.add_argument(option)
        if option in _OF_OPTIONS:
            action.completer = _OF_OPTIONS[option]  # type: ignore[attr-defined]
    for option in ("--list", "--help"):
        parser.add_argument(option, nargs="?").completer = _OF_OPTIONS[option]  # type: ignore[attr-defined]
    for option in FLAGS:
        parser.add_argument(option, action="store_true")
    return parser


def _words(words: Iterable[str]) -> Callable:
    return lambda **_: list(words)


def _words_of_main(verb: str) -> Callable:
    """Of what stands without an option: verbs, runs after some of them, keys after `with`."""

    def completer(prefix: str, parsed_args: Any, **_: Any) -> list[str]:
        before = parsed_args.words or []
        if "with" in before or verb == "with":
            return _settings(prefix)
        if not before and verb in VERBS:
            return _listed() if verb == "list" else _runs()
        return ["with"] if before or verb in VERBS else ["with", *VERBS, *OF_SACRED]

    return completer


def _settings(prefix: str) -> list[str]:
    from checks.options import declared

    key, equals, _ = prefix.partition("=")
    options = declared()
    if not equals:
        return [f"{name}=" for name in options]
    if key not in options:
        return []
    option = options[key]
    choices = option.choices or ((True, False) if isinstance(option.default, bool) else ())
    return [f"{key}={choice}" for choice in choices]


def _runs(**_: Any) -> list[str]:
    folder = Path("results")
    tokens = [path for name in ("runs", "models") for path in (folder / name).glob("*") if path.is_dir()]
    newest = sorted({path.name: path.stat().st_mtime for path in tokens}.items(), key=lambda item: -item[1])
    return ["latest", *(name for name, _ in newest[:SHOWN_RUNS] if re.fullmatch(r"[\w.:+-]+", name))]


def _suites(**_: Any) -> list[str]:
    from suites.plan.suite_file import suite_names

    return suite_names()


def _listed(**_: Any) -> list[str]:
    from checks.registries import REGISTRIES
    from cli.listing import ALGORITHMS, ENVIRONMENTS

    return [ALGORITHMS, ENVIRONMENTS, *REGISTRIES, *config_names("envs")]


def _keys(**_: Any) -> list[str]:
    from checks.options import declared

    return list(declared())


_OF_OPTIONS: dict[str, Callable] = {
    "--config": lambda **_: [*config_names("algs"), *parameter_names()],
    "--env-config": lambda **_: config_names("envs"),
    "--resume": _runs,
    "--evaluate": _runs,
    "--export": _runs,
    "--model": _words(("best", "newest")),
    "--list": _listed,
    "--help": _keys,
}
