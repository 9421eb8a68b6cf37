"""Command lines of the programs beside main.py: a mistake is one sentence, with the nearest option."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

from utils.console import fitted
from utils.errors import ConfigError
from utils.nearest import did_you_mean
from utils.own_commands import as_typed
from utils.plain_values import quoted

# the help of the argument RUN
RUN = (
    "the number of a Sacred run, a token, a folder under runs/, models/ or sacred/, latest, or a trained model that "
    "comes with Muster, as generalist"
)


class _Formatter(argparse.HelpFormatter):
    """Options' texts have the commands that were typed."""

    def _expand_help(self, action: argparse.Action) -> str:
        return as_typed(super()._expand_help(action))


class _FormatterOfLines(_Formatter):
    """Descriptions and epilogs keep their lines, as far as these fit."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return fitted(text, width)


class OptionParser(argparse.ArgumentParser):
    """argparse's parser; mistakes are ConfigErrors, and an epilog of several lines keeps them.

    Args:
        with_settings: settings may follow, after `with`.
    """

    # asked first, where a shell completes a command line
    before_parsing: ClassVar[Callable[["OptionParser"], None] | None] = None

    def __init__(self, program: str, description: str, epilog: str = "", with_settings: bool = False):
        super().__init__(
            prog=as_typed(program),
            description=as_typed(description),
            epilog=as_typed(epilog),
            formatter_class=_FormatterOfLines if "\n" in epilog else _Formatter,
            allow_abbrev=False,
        )
        self._with_settings, self._program = with_settings, program

    def error(self, message: str) -> NoReturn:
        """As argparse calls it.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(f"{message[0].upper()}{message[1:]}. See python src/{self._program} --help.")

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """The values of all options by name, from a command line without the program's name.

        With settings, `words` are those after `with`.

        Raises:
            ConfigError: an unknown option, or a value that cannot be one.
        """
        if OptionParser.before_parsing is not None:
            OptionParser.before_parsing(self)
        argv, settings = list(argv), {}
        if self._with_settings:
            start = argv.index("with") if "with" in argv else len(argv)
            argv, settings["words"] = argv[:start], argv[start + 1 :]
        parsed, rest = self.parse_known_args(argv)
        if rest:
            known = [option for action in self._actions for option in action.option_strings]
            nearest = did_you_mean(rest[0].partition("=")[0], known)
            raise ConfigError(f"Unknown argument '{quoted(rest[0])}'.{nearest} See python src/{self._program} --help.")
        return argparse.Namespace(**vars(parsed), **settings)


def number(least: float, most: float, whole: bool = False) -> Callable[[str], Any]:
    """The type of an option that is a number between two others, which are allowed."""

    def read(text: str) -> float:
        try:
            value = (int if whole else float)(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            kind = "whole number" if whole else "number"
            raise argparse.ArgumentTypeError(f"{quoted(text)} is not a {kind} from {least:g} to {most:g}")
        return value

    return read
