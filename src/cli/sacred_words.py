"""The words of the command line that are Sacred's, checked: a mistake is one line with the nearest choice.

Sacred would print its usage, or a traceback.
"""

from collections import deque
from collections.abc import Sequence

from cli.foreign.options import refuse_foreign
from cli.settings import check_option, check_settings, texts_as_typed
from utils.config.user_modules import not_imported
from utils.errors import ConfigError
from utils.nearest import did_you_mean, suggestion
from utils.plain_values import quoted

# Sacred imports pandas where it finds it, which takes a quarter of a second, to record data frames: a run has none
with not_imported("pandas"):
    from sacred.experiment import gather_command_line_options

COMMANDS = ("print_config", "print_dependencies", "print_named_configs", "save_config", "help")


def check_words(words: Sequence[str], ours: Sequence[str]) -> tuple[dict, dict[str, str]]:
    """Refuse words that Sacred cannot read; return the settings after `with`, nested, and how they were typed.

    Args:
        words: the command line without our own options.
        ours: the names of these, for suggestions.

    Raises:
        ConfigError: an option that does not exist, or has no value or an invalid one; a word that is no command; a
            setting after `with` that is invalid.
    """
    takes_value = {
        flag: option.arg is not None for option in gather_command_line_options() for flag in option.get_flags()
    }
    words, settings = deque(words), []
    commands: list[str] = []
    after_with = False
    while words:
        word = words.popleft()
        if word.startswith("-"):
            _check_option(word, words, takes_value, ours)
        elif after_with:
            settings.append(word)
        elif word == "with":
            after_with = True
        else:
            _check_command(word, commands)
            commands.append(word)
    return check_settings(settings), texts_as_typed(settings)


def _check_option(word: str, words: deque[str], takes_value: dict[str, bool], ours: Sequence[str]) -> None:
    """Check an option and take its value from `words`, if it has one there."""
    option, equals, value = word.partition("=")
    if takes_value.get(word) is False:
        return
    if word[1] != "-" and len(word) > 2 and takes_value.get(word[:2]):  # -lINFO
        option, value = word[:2], word[2:]
    elif not takes_value.get(option):
        refuse_foreign(option)
        raise ConfigError(
            f"Unknown option '{quoted(option)}'.{did_you_mean(option, [*ours, *takes_value])} See --help."
        )
    elif not equals:
        if not words:
            raise ConfigError(f"The option {option} needs a value.")
        value = words.popleft()
    check_option(option, value)


def _check_command(word: str, commands: list[str]) -> None:
    """Refuse a word before `with` that is no command; after `help` comes the name of one."""
    if word in COMMANDS:
        return
    if "help" in commands:
        raise ConfigError(f"There is no command '{quoted(word)}'.{suggestion(word, COMMANDS)}")
    if word.endswith((".yaml", ".yml")):
        raise ConfigError(f"'{quoted(word, 300)}': name a config as --config={quoted(word, 300)}.")
    if "=" in word:
        raise ConfigError(f"'{quoted(word)}' stands before 'with'. Settings come last: ... with {quoted(word)}")
    raise ConfigError(f"Unknown command '{quoted(word)}'.{suggestion(word, [*COMMANDS, 'with'])}")
