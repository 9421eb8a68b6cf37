"""Command lines of the browser's programs: a mistake is one sentence, with the nearest option."""

import argparse
from collections.abc import Sequence
from typing import NoReturn

from utils.errors import ConfigError
from utils.nearest import did_you_mean


class OptionParser(argparse.ArgumentParser):
    """argparse's parser; mistakes are ConfigErrors."""

    def error(self, message: str) -> NoReturn:
        """As argparse calls it.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(f"{message[0].upper()}{message[1:]}. See --help.")

    def parse(self, argv: Sequence[str]) -> dict:
        """The values of all options by name, from a command line without the program's name.

        Raises:
            ConfigError: an unknown option, or a value that cannot be one.
        """
        parsed, rest = self.parse_known_args(argv)
        if rest:
            known = [option for action in self._actions for option in action.option_strings]
            nearest = did_you_mean(rest[0].partition("=")[0], known)
            raise ConfigError(f"Unknown argument '{rest[0]}'.{nearest} See --help.")
        return vars(parsed)


def option_parser(program: str, description: str, epilog: str) -> OptionParser:
    """A parser whose epilog keeps its lines."""
    return OptionParser(
        prog=program,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
