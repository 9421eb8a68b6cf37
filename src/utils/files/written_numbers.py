"""Numbers that keep how they were written, for keys whose values are text: in YAML, `name: 1e5` is the text 1e5."""

from collections.abc import Mapping
from typing import Any


class WrittenInt(int):
    """A whole number with its `text`."""

    text: str


class WrittenFloat(float):
    """A fraction with its `text`."""

    text: str


def written(number: int | float, text: str) -> WrittenInt | WrittenFloat:
    """`number` with the text that it was read from."""
    made = (WrittenInt if isinstance(number, int) else WrittenFloat)(number)
    made.text = text
    return made


def plain(value: Any) -> Any:
    """`value` with plain numbers, in mappings and lists, too."""
    match value:
        case Mapping():
            return {key: plain(inner) for key, inner in value.items()}
        case list():
            return [plain(inner) for inner in value]
        case WrittenInt():
            return int(value)
        case WrittenFloat():
            return float(value)
    return value


def texts_of(content: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """The texts of the numbers in nested mappings: {"a.b": text}."""
    texts: dict[str, str] = {}
    for key, value in content.items():
        if isinstance(value, Mapping):
            texts |= texts_of(value, f"{prefix}{key}.")
        elif isinstance(value, WrittenInt | WrittenFloat):
            texts[f"{prefix}{key}"] = value.text
    return texts


def with_texts(content: Mapping[str, Any], texts: Mapping[str, str], prefix: str = "") -> dict[str, Any]:
    """The opposite of `texts_of`: nested mappings, whose numbers get their texts."""
    found: dict[str, Any] = {}
    for key, value in content.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            found[key] = with_texts(value, texts, f"{path}.")
        else:
            found[key] = written(value, texts[path]) if type(value) in (int, float) and path in texts else value
    return found
