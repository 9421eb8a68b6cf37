"""What the agents of a saved model see and can do, beside its weights; who loads it elsewhere is told what differs.

`meaning.json` has what the environment declares (`utils.meanings`). Models of older versions and of environments that
declare nothing have none, and are loaded as before.
"""

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from records.layout import MEANING
from records.recorded import json_mapping
from utils.errors import ConfigError
from utils.meanings import Meaning
from utils.plain_values import quoted

# of a list of names in a message
MOST_NAMED = 8


def recorded(meaning: Meaning | None) -> dict[str, str]:
    """The texts to write beside the files of a model, by file name."""
    return {} if meaning is None else {MEANING: json.dumps(_plain(meaning))}


def load_models(models: Any, folder: Path, meaning: Meaning | None, console: logging.Logger) -> None:
    """Let `models` load from a folder; warn where the same numbers mean something else here.

    Args:
        models: has `load_models(path)`.
        meaning: what the environment of this run declares.

    Raises:
        ConfigError: they do not fit; with what the model's agents saw and could do, and those here do not.
    """
    different = list(_differences(folder, meaning))
    try:
        models.load_models(str(folder))
    except ConfigError as error:
        if not different:
            raise
        raise ConfigError(f"{error}\n{' '.join(text for text, _ in different)}") from None
    if told := [text for text, matters in different if matters]:
        console.warning(f"The model of {folder} was trained for other observations or actions. {' '.join(told)}")


def _differences(folder: Path, meaning: Meaning | None) -> Iterator[tuple[str, bool]]:
    """Sentences on what differs, and whether it matters to weights that fit: other numbers of units do not."""
    saved = json_mapping(folder / MEANING)
    if meaning is None or not saved:
        return
    here, before = _plain(meaning), _checked(saved)
    for name, (features, rows) in here["groups"].items():
        if name not in before["groups"]:
            continue
        theirs, their_rows = before["groups"][name]
        if theirs != features:
            yield f"Of {quoted(name)} its agents saw {_listed(theirs)}; here: {_listed(features)}.", True
        elif their_rows != rows:
            yield f"Its agents saw {their_rows} of {quoted(name)}; here: {rows}.", False
    gone = [name for name in before["groups"] if name not in here["groups"]]
    new = [name for name in here["groups"] if name not in before["groups"]]
    if gone:
        yield f"Its agents saw {_listed(gone)}, too.", True
    if new:
        yield f"Its agents did not see {_listed(new)}.", True
    if before["untargeted"] != here["untargeted"]:
        what = f"{_listed(before['untargeted'])}; here: {_listed(here['untargeted'])}"
        yield f"Its actions without a target were {what}.", True
    for kind in sorted({*before["targets"], *here["targets"]}):
        count, own = before["targets"].get(kind, 0), here["targets"].get(kind, 0)
        if count != own:
            yield f"It had {count} actions for {quoted(kind)}; here: {own}.", not (count and own)


def _plain(meaning: Meaning) -> dict[str, Any]:
    """groups: by "field: kind", names of features and the number of rows. untargeted: names. targets: their numbers."""
    targets = [action.target[0] for action in meaning.actions if action.target is not None]
    return {
        "groups": {
            f"{one.field}: {one.kind}{_seers(one.agents)}": [[*one.features], one.rows] for one in meaning.groups
        },
        "untargeted": [meaning.actions[number].name for number in meaning.untargeted],
        "targets": {kind: targets.count(kind) for kind in sorted(set(targets))},
    }


def _seers(agents: tuple[int, ...]) -> str:
    return f" (agents {', '.join(map(str, agents))})" if agents else ""


def _checked(saved: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a model, which may come from others; what is not of its form is left out."""
    groups, targets = _mapping(saved, "groups"), _mapping(saved, "targets")
    untargeted = saved.get("untargeted")
    return {
        "groups": {
            str(name): (list(map(str, group[0])), group[1])
            for name, group in groups.items()
            if isinstance(group, list) and len(group) == 2 and isinstance(group[0], list) and isinstance(group[1], int)
        },
        "untargeted": list(map(str, untargeted)) if isinstance(untargeted, list) else [],
        "targets": {str(kind): count for kind, count in targets.items() if isinstance(count, int)},
    }


def _mapping(saved: Mapping[str, Any], key: str) -> Mapping[Any, Any]:
    found = saved.get(key)
    return found if isinstance(found, Mapping) else {}


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(quoted(name) for name in names[:MOST_NAMED]) + more if names else "nothing"
