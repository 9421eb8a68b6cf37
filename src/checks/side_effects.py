"""Effects of a recorded config outside of its results, which may come from others.

Each option declares what its values may do (`utils.config.reach`), and so do the arguments of environments
(`envs.contract.reaches`). One that declares nothing counts as one that may.
"""

import json
import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from checks.options import options_of_keys
from checks.parts import ChosenParts
from checks.teams import OWN as OWN_OF_TEAMS
from collection.collector_options import OPTIONS as OF_COLLECTORS
from envs import reaches_of
from envs.contract.reaches import OF_ALL
from records.own_marks import is_own
from utils.config.merging import config_names, recursive_dict_update
from utils.config.reach import UNDECLARED, Reach, holds_text
from utils.errors import ConfigError
from utils.plain_values import quoted

# settings that playing a recorded model does not use: statistics go nowhere, replays to the results, and its end is
# nobody's news
UNUSED_IN_PLAY = (
    "callbacks",
    "record_data",
    "league_folder",
    "mongo_url",
    "on_end",
    "mlflow_uri",
    "wandb_mode",
    "env_args.replay_dir",
)
# settings whose values are judged key by key
JUDGED_WITHIN = ("env_args", "teams", "collectors")
OF_FILES = Reach("take settings from a file")

KeyPath = tuple[str, ...]


def reaching(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a recorded config that start programs, import code, connect to a server or write elsewhere.

    Nothing is imported or started to find out but Muster's own modules.

    Returns:
        key, with dots for one within a mapping, -> value.
    """
    return {".".join(path): value for path, value, _ in _reaching(config)}


def as_words(settings: Mapping[str, Any]) -> str:
    """The settings as typed after `with`, or empty."""
    return " ".join(shlex.quote(f"{key}={_literal(value)}") for key, value in settings.items())


def statement_of(config: Mapping[str, Any]) -> str:
    """What a user's own run vouches for with the mark in its folder (`records.own_marks`).

    Empty: for nothing, as nothing in the config reaches beyond the results.
    """
    settings = reaching(config)
    return json.dumps([config.get("env"), settings], sort_keys=True, default=str) if settings else ""


def allowed(
    recorded: Mapping[str, Any],
    given: Mapping[str, Any],
    folder: Path | None = None,
    unused: Collection[str] = (),
    what: str = "The run's record",
) -> dict[str, Any]:
    """A recorded config with the settings beyond its results that may have an effect.

    Of a folder that this user's own runs wrote, these are all. Of others they are those that the command line names,
    and as these it has to set them: in what is returned they are missing.

    Args:
        given: the settings of the command line, nested.
        folder: of the run, where its mark would be.
        unused: keys that have no effect in what follows, so they need not be named.
        what: has these settings, for the message.

    Raises:
        ConfigError: settings that the command line does not name; nothing was imported or started.
    """
    found = list(_reaching(recorded))
    statement = statement_of(recorded)
    if not found or (folder is not None and is_own(folder, statement)):
        return recursive_dict_update({}, recorded)
    missing = [one for one in found if ".".join(one[0]) not in unused and not _is_named(given, one[0])]
    if missing:
        raise ConfigError(_refusal(missing, what))
    released = recursive_dict_update({}, recorded)
    for path, _, _ in found:
        _remove(released, path)
    return released


def _refusal(missing: list[tuple[KeyPath, Any, Reach]], what: str) -> str:
    settings = {".".join(path): value for path, value, _ in missing}
    kinds = list(dict.fromkeys(reach.what for _, _, reach in missing if reach is not UNDECLARED))
    kinds = [", ".join(kinds[:-1]) + " or " + kinds[-1]] if len(kinds) > 1 else kinds
    kinds += [UNDECLARED.what] if any(reach is UNDECLARED for _, _, reach in missing) else []
    found = ", ".join(f"{key}={quoted(value, 200)}" for key, value in settings.items())
    return (
        f"{what} has settings that {' or that '.join(kinds)}: {found}. Records may come from others: check them, and "
        f"name those that you allow: with {as_words(settings)}"
        + (" (or plugins=[] for none)." if "plugins" in settings else "")
    )


def _reaching(config: Mapping[str, Any]) -> Iterator[tuple[KeyPath, Any, Reach]]:
    foreign = bool(config.get("plugins")) or ChosenParts(config).has_foreign
    yield from _of_keys(config, foreign)
    yield from _of_collectors(config.get("collectors"))
    yield from _of_environment(config)
    yield from _of_teams(config, foreign)


def _of_keys(config: Mapping[str, Any], foreign: bool) -> Iterator[tuple[KeyPath, Any, Reach]]:
    """Settings at the top. A default is this Muster's own, whoever's record has it.

    Args:
        foreign: whether a part may be chosen that is not built in: it reads keys that no part declares.
    """
    options = options_of_keys()
    for key, value in config.items():
        if any(option.default == value for option in options.get(key, ())):
            continue
        reaches = [option.reach for option in options.get(key, ())]
        if key not in options and foreign and holds_text(value):
            reaches = [UNDECLARED]
        found = [reach for reach in reaches if key not in JUDGED_WITHIN and reach.of(value, config)]
        if found:
            yield (key,), _plugins(value) if key == "plugins" else value, found[0]


def _of_collectors(collectors: Any) -> Iterator[tuple[KeyPath, Any, Reach]]:
    for key, value in _mapping(collectors).items():
        reach = OF_COLLECTORS[key].reach if key in OF_COLLECTORS else UNDECLARED
        if reach.of(value, collectors):
            yield ("collectors", str(key)), value, reach


def _of_environment(config: Mapping[str, Any]) -> Iterator[tuple[KeyPath, Any, Reach]]:
    env_args = _mapping(config.get("env_args"))
    declared = {**OF_ALL, **reaches_of(config.get("env"))}
    for key, value in env_args.items():
        reach = declared.get(key, UNDECLARED)
        if reach.of(value, env_args):
            yield ("env_args", str(key)), value, reach


def _of_teams(config: Mapping[str, Any], foreign: bool) -> Iterator[tuple[KeyPath, Any, Reach]]:
    """A team's keys are those of a run, beside its own; and its preset may be a file, which may have any of them."""
    for name, own in _mapping(config.get("teams")).items():
        own = _mapping(own)
        if own.get("config") and own["config"] not in config_names("algs"):
            yield ("teams", str(name), "config"), own["config"], OF_FILES
        keys = {key: value for key, value in own.items() if key not in OWN_OF_TEAMS}
        for path, value, reach in _of_keys(keys, foreign or ChosenParts(keys).has_foreign):
            yield ("teams", str(name), *path), value, reach


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _plugins(value: Any) -> list[str]:
    """The plugins that a recorded config names."""
    return [str(plugin) for plugin in (value if isinstance(value, list | tuple) else [value])]


def _is_named(given: Any, path: KeyPath) -> bool:
    for key in path:
        if not isinstance(given, Mapping) or key not in given:
            return False
        given = given[key]
    return True


def _remove(config: dict[str, Any], path: KeyPath) -> None:
    for key in path[:-1]:
        config = config[key]
    config.pop(path[-1], None)


def _literal(value: Any) -> str:
    """A value as the command line takes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_quoted, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_quoted(key)}: {_quoted(inner)}" for key, inner in value.items()) + "}"
    return repr(value)


def _quoted(value: Any) -> str:
    """The same within a list; Python reads JSON's texts, and a shell needs fewer quotation marks around them."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else _literal(value)
