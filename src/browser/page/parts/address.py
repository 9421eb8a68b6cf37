"""A view's state in the page's address: read with care, for anyone can type there, and written back."""

from collections.abc import Collection, Mapping
from typing import TypeVar
from urllib.parse import parse_qsl, urlencode

from browser.page.parts.limits import MOST_MESSAGES
from utils.nearest import suggestion

Default = TypeVar("Default", int, None)

# a run id has up to four folder names; more characters than any view's address needs
LONGEST = 60_000


def parse(search: str | None) -> dict[str, str]:
    """The query of an address ("?a=1&b=2") by key; of a key that stands there twice the last counts."""
    text = (search or "").removeprefix("?")[:LONGEST]
    return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=None, errors="replace"))


def link(path: str, query: Mapping[str, object] | None = None) -> str:
    """An address; empty values and None are left out."""
    texts = as_query(query or {})
    return f"{path}?{urlencode(texts, safe=',/:')}" if texts else path


def as_query(values: Mapping[str, object]) -> dict[str, str]:
    """The values of controls, or of a request, as `parse` returns them; empty ones and None are left out."""
    texts = {
        key: ",".join(map(str, value)) if isinstance(value, list | tuple) else value for key, value in values.items()
    }
    return {key: str(value) for key, value in texts.items() if value not in (None, "")}


def texts_in(values: object) -> list[str]:
    """The texts in the value of a control, which a browser sends as it likes."""
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def names(query: Mapping[str, str], key: str) -> list[str]:
    """A list separated by commas."""
    return [name for name in query.get(key, "").split(",") if name]


def unknown(query: Mapping[str, str], settings: Collection[str]) -> list[str]:
    """A sentence for each name that the view does not have; those that the bar's links keep are of all views."""
    known = {*settings, "runs", "where"}
    names = [name[:100] for name in query if name not in known][:MOST_MESSAGES]
    return [f"This view has no setting '{name}'.{suggestion(name, settings)}" for name in names]


def choice(query: Mapping[str, str], key: str, allowed: Collection[str], default: str, notices: list[str]) -> str:
    """One of `allowed`; for anything else `default`, and a sentence in `notices`."""
    value = query.get(key, default)
    if value in allowed or value == default:
        return value
    notices.append(f"There is no {key} '{value[:100]}'.{suggestion(value[:100], allowed, limit=20)}")
    return default


def whole_number(
    query: Mapping[str, str], key: str, low: int, high: int, default: Default, notices: list[str]
) -> int | Default:
    """A whole number from `low` to `high`; for anything else `default`, and a sentence in `notices`."""
    text = query.get(key, "")
    if not text:
        return default
    if text.isascii() and text.isdecimal() and len(text) < 16 and low <= int(text) <= high:
        return int(text)
    notices.append(f"{key} is a whole number from {low:,} to {high:,}, found '{text[:100]}'.")
    return default
