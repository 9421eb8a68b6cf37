"""PyMARL's command line: a few options of our own, the rest is Sacred's."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from cli.settings import check_option, check_settings
from utils.config import config_names
from utils.errors import ConfigError
from utils.nearest import did_you_mean, suggestion
from utils.plain_values import shown

OUR_OPTIONS = {
    "--config": "algorithm",
    "--env-config": "environment",
    "--resume": "resume",
    "--evaluate": "evaluate",
}
# Sacred's options (0.8.7); those in the second tuple take a value
SACRED_FLAGS = (
    "-d --debug -D --pdb -e --enforce_clean -f --force -p --print-config -q --queue -u --unobserved"
).split()
SACRED_OPTIONS = (
    "-b --beat-interval -C --capture -c --comment -i --id -l --loglevel -n --name -P --priority "
    "-F --file_storage -m --mongo_db -s --sql -S --s3 -t --tiny_db"
).split()
SACRED_COMMANDS = ("print_config", "print_dependencies", "print_named_configs", "save_config", "help")


@dataclass
class Arguments:
    """What the user asked for: `action` is "help", "list" or "run"; `sacred` goes to Sacred as it is."""

    action: str = "run"
    algorithm: str | None = None
    environment: str | None = None
    resume: str | None = None
    evaluate: str | None = None
    listed: str = ""
    sacred: list[str] = field(default_factory=list)


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Parse the command line without the program's name.

    Raises:
        ConfigError: an unknown option, a missing value or choice.
    """
    parsed = Arguments()
    if not argv:
        parsed.action = "help"
        return parsed
    words = deque(argv)
    after_with, settings = False, []
    while words:
        word = words.popleft()
        # nothing, as in YAML; Sacred knows Python's name for it only
        if after_with and word.endswith("=null") and not word.startswith("-"):
            word = f"{word.removesuffix('null')}None"
        option, equals, value = word.partition("=")
        if option in OUR_OPTIONS:
            value = value if equals else _next(words)
            if not value or value.startswith("-"):
                raise ConfigError(f"{option} needs a name, as in {option}={_example(option)}.")
            if getattr(parsed, OUR_OPTIONS[option]) is not None:
                raise ConfigError(f"{option} is given twice.")
            setattr(parsed, OUR_OPTIONS[option], value)
        elif word in ("--help", "-h"):
            parsed.action = "help"
        elif option == "--list":
            parsed.action = "list"
            parsed.listed = value if equals or (words and words[0].startswith("-")) else _next(words)
        elif word.startswith("-"):
            parsed.sacred += _sacred_option(word, words)
        else:
            if after_with:
                settings.append(word)
            elif word == "with":
                after_with = True
            elif "help" in parsed.sacred and word not in SACRED_COMMANDS:
                raise ConfigError(f"There is no command '{shown(word)}'.{suggestion(word, SACRED_COMMANDS)}")
            elif word not in SACRED_COMMANDS and "help" not in parsed.sacred:
                raise ConfigError(_stray_word(word))
            parsed.sacred.append(word)
    check_settings(settings)
    if parsed.action == "run" and "help" not in parsed.sacred:
        _require_choices(parsed)
    return parsed


def _next(words: deque[str]) -> str:
    return words.popleft() if words else ""


def given_value(words: Sequence[str], key: str) -> str | None:
    """What the command line sets `key` to after `with`; None if it does not."""
    settings = words[words.index("with") + 1 :] if "with" in words else []
    return next((word.partition("=")[2] for word in reversed(settings) if word.startswith(f"{key}=")), None)


def _sacred_option(word: str, words: deque[str]) -> list[str]:
    """The option and, if it takes one, its value."""
    option, equals, value = word.partition("=")
    if option in SACRED_FLAGS:
        return [word]
    if len(word) > 2 and word[:2] in SACRED_OPTIONS and word[1] != "-":  # -lINFO
        check_option(word[:2], word[2:])
        return [word]
    if option not in SACRED_OPTIONS:
        options = [*OUR_OPTIONS, "--list", "--help", *SACRED_FLAGS, *SACRED_OPTIONS]
        raise ConfigError(f"Unknown option '{shown(option)}'.{did_you_mean(option, options)} See --help.")
    if not equals:
        if not words:
            raise ConfigError(f"The option {option} needs a value.")
        value = words.popleft()
    check_option(option, value)
    return [word] if equals else [word, value]


def _stray_word(word: str) -> str:
    if "=" in word:
        return f"'{shown(word)}' stands before 'with'. Settings come last: ... with {shown(word)}"
    return f"Unknown command '{shown(word)}'.{suggestion(word, [*SACRED_COMMANDS, 'with'])}"


def _require_choices(parsed: Arguments) -> None:
    choices = {option: OUR_OPTIONS[option] for option in ("--config", "--env-config")}
    of_runs = [option for option in ("--resume", "--evaluate") if getattr(parsed, OUR_OPTIONS[option]) is not None]
    if of_runs:
        others = [*of_runs[1:], *(option for option, attribute in choices.items() if getattr(parsed, attribute))]
        for option in others:
            raise ConfigError(f"{option} does not go with {of_runs[0]}, which takes the config of the run.")
        return
    for option, attribute in choices.items():
        if getattr(parsed, attribute) is None:
            names = config_names({"--config": "algs", "--env-config": "envs"}[option])
            raise ConfigError(f"{option} is missing. Choose one of: {', '.join(names)}.")


def _example(option: str) -> str:
    return {"--config": "qmix", "--env-config": "two_step", "--resume": "latest", "--evaluate": "latest"}[option]
