"""PyMARL's command line: a few options of Muster, the rest is Sacred's."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utils.config.merging import CHOOSING, choose_one, config_path, flatten, recursive_dict_update
from utils.errors import ConfigError
from utils.files.written_numbers import with_texts
from utils.nearest import suggestion
from utils.plain_values import quoted

# our options that take a name, and an example of one
NAMED = {
    "--config": "qmix",
    "--env-config": "two_step",
    "--resume": "latest",
    "--evaluate": "latest",
    "--export": "latest",
    "--to": "Walker.onnx",
    "--model-version": "2",
    "--model": "newest",
    "--custom": "my_functions:measure",
    "--cpanel": """'{"lr": 1e-3}'""",
}
FLAGS = ("--greedy", "--dry-run", "--validate")
# those that `Arguments` has as they are
OPTIONS = "resume evaluate export model custom to model_version greedy dry_run validate".split()


@dataclass
class Arguments:
    """The parsed command line.

    `model` and `custom` say more about `evaluate`: "best" or "newest", and a function of the user's own. `to`,
    `model_version` and `greedy` say more about `export`: the file, the names in it, and what it does.
    `action` is "help", "list" or "run"; `asked`: the word after --help or --list; `sacred` goes to Sacred as it is;
    `settings` are those after `with`, nested; `panel`: the changes of a parameter file's control panel, by `--cpanel`
    and by `with cpanel.KEY=VALUE`, the later wins. `texts`: how settings were typed that are no text, "a.b" -> text.
    """

    action: str = "run"
    algorithm: str | None = None
    environment: str | None = None
    resume: str | None = None
    evaluate: str | None = None
    model: str | None = None
    custom: str | None = None
    export: str | None = None
    to: str | None = None
    model_version: str | None = None
    greedy: bool = False
    dry_run: bool = False
    validate: bool = False
    asked: str = ""
    sacred: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    panel: dict[str, Any] = field(default_factory=dict)


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Parse the command line without the program's name.

    Raises:
        ConfigError: an unknown option, a missing value or choice.
    """
    if list(argv) in ([], ["help"]):  # of Sacred's commands, it explains one
        return Arguments(action="help")
    try:
        ours, words = _parser().parse_known_args(list(argv))
    except argparse.ArgumentError as error:
        if error.argument_name in NAMED:
            raise _needs_name(error.argument_name) from None
        raise ConfigError(f"{error.argument_name} takes no value.") from None
    action = "help" if ours.help is not None or "-h" in words else "run" if ours.list is None else "list"
    sacred = _as_sacred_reads([word for word in words if word != "-h"])
    asked = (ours.help if action == "help" else ours.list) or ""
    chosen = {option: getattr(ours, option) for option in OPTIONS}
    parsed = Arguments(action, ours.config, ours.env_config, asked=asked, sacred=sacred, **chosen)
    if sacred:
        # imported here: pages and most mistakes do not need Sacred
        from cli.sacred_words import check_words

        parsed.settings, parsed.texts = check_words(sacred, [*NAMED, "--list", "--help", *FLAGS])
    _take_panel(parsed, ours.cpanel)
    if action == "run" and "help" not in sacred:
        _require_choices(ours)
    return parsed


def given_value(words: Sequence[str], key: str) -> str | None:
    """The value of `key` after `with` on the command line, or None."""
    settings = words[words.index("with") + 1 :] if "with" in words else []
    return next((word.partition("=")[2] for word in reversed(settings) if word.startswith(f"{key}=")), None)


def given_text(arguments: Arguments, key: str) -> str | None:
    """The value of a key that is text after `with` on the command line, or None."""
    value = arguments.texts.get(key, arguments.settings.get(key))
    return value if isinstance(value, str) else None


def take_settings(arguments: Arguments, settings: dict[str, Any]) -> None:
    """Let `settings` take the place of those after `with`; for Sacred, new and changed ones are written as literals."""
    before, now = flatten(arguments.settings), flatten(settings)
    changed = {
        key: value
        for key, value in now.items()
        if key not in before or before[key] != value or (key in arguments.texts and isinstance(value, str))
    }
    if changed:
        words = arguments.sacred if "with" in arguments.sacred else [*arguments.sacred, "with"]
        start = words.index("with")
        kept = [word for word in words[start:] if word.partition("=")[0].strip() not in changed]
        arguments.sacred = [*words[:start], *kept, *(f"{key}={value!r}" for key, value in changed.items())]
    arguments.settings = settings


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--help", nargs="?", const="")  # -h is found among the words: argparse would read -hx
    parser.add_argument("--list", nargs="?", const="")
    for option in FLAGS:
        parser.add_argument(option, action="store_true")
    for option in NAMED:
        parser.add_argument(option, action=_Name)
    return parser


class _Name(argparse.Action):
    """A name that is given once."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, name: Any, option_string: str | None = None) -> None:
        (option,) = self.option_strings
        if not name or name.startswith("-"):
            raise _needs_name(option)
        if getattr(namespace, self.dest) is not None:
            raise ConfigError(f"{option} is given twice.")
        setattr(namespace, self.dest, name)


def _needs_name(option: str) -> ConfigError:
    what = "an object" if option == "--cpanel" else "a name"
    return ConfigError(f"{option} needs {what}, as in {option}={NAMED[option]}.")


def _as_sacred_reads(words: list[str]) -> list[str]:
    """The words with settings by their present names, and KEY=None for KEY=null of keys that may be nothing.

    These are the options that may be null, the environments' arguments, and keys that nothing declares; Sacred knows
    Python's name for nothing only.
    """
    if "with" not in words:
        return words
    from cli.settings import with_new_keys

    start = words.index("with") + 1
    settings = (_nothing(word) if word.endswith("=null") else word for word in words[start:])
    return [*words[:start], *with_new_keys(list(settings))]


def _nothing(word: str) -> str:
    from checks.options import declared

    key = word.removesuffix("=null")
    option = declared().get(key)
    may_be_nothing = option is None or option.nullable
    return f"{key}=None" if may_be_nothing and "=" not in key else word


def _take_panel(parsed: Arguments, text: str | None) -> None:
    """Move the panel's changes out of the settings: the parameter file sees them before Sacred sees a config."""
    changes = parsed.settings.pop("cpanel", {})
    if text is None and not changes:
        return
    from cli.panel import panel_words

    if not isinstance(changes, dict):
        raise ConfigError("cpanel is a mapping: set its keys, as in with cpanel.lr=1e-3.")
    changes = with_texts(changes, parsed.texts, "cpanel.")
    parsed.panel = recursive_dict_update(panel_words(text or "{}"), changes)
    parsed.sacred = [word for word in parsed.sacred if not word.startswith(("cpanel.", "cpanel="))]
    if parsed.sacred[-1:] == ["with"]:
        del parsed.sacred[-1]


def _require_choices(ours: argparse.Namespace) -> None:
    if ours.model not in (None, "best", "newest"):
        raise ConfigError(f"--model={quoted(ours.model)}: no such choice.{suggestion(ours.model, ('best', 'newest'))}")
    if ours.model is not None and ours.evaluate is None and ours.export is None:
        raise ConfigError("--model needs --evaluate=RUN or --export=RUN: the run whose model is loaded.")
    if ours.custom is not None and ours.evaluate is None:
        raise ConfigError("--custom needs --evaluate=RUN: the run whose model is loaded.")
    for option in ("--to", "--model-version", "--greedy"):
        if getattr(ours, option[2:].replace("-", "_")) and ours.export is None:
            raise ConfigError(f"{option} needs --export=RUN: the run whose policy is written.")
    choices = {"--config": ours.config, "--env-config": ours.env_config}
    named = {"--resume": ours.resume, "--evaluate": ours.evaluate, "--export": ours.export}
    of_runs = [option for option, name in named.items() if name]
    if of_runs:
        for option in [*of_runs[1:], *(option for option, name in choices.items() if name)]:
            raise ConfigError(f"{option} does not go with {of_runs[0]}, which takes the config of the run.")
        return
    for option, name in choices.items():
        if name is None:
            if option == "--env-config" and _may_choose(config_path(ours.config, "algs")):
                continue
            raise ConfigError(f"{option} is missing. {choose_one('envs' if option == '--env-config' else 'algs')}")


def _may_choose(path: Path) -> bool:
    """Whether an algorithm's file may choose its environment itself."""
    from cli.config_files import reads_settings

    return path.suffix in CHOOSING or reads_settings(path)
