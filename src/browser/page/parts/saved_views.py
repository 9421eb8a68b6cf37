"""Views that people have named: a list of links above a view, and with --write a box to name or forget one."""

from collections.abc import Mapping
from typing import Any

from dash import dcc, html

from browser.page.parts import address
from browser.page.parts.context import Context
from browser.page.parts.notes import NotWrittenError
from utils.nearest import suggestion

# in an address: the name of a view, whose settings hold where the address has none
VIEW = "view"


def opened(context: Context, path: str, query: Mapping[str, str], wrong: list[str]) -> dict[str, str]:
    """The query of an address, with the settings of the view that it names; a sentence in `wrong` if there is none."""
    rest = {key: value for key, value in query.items() if key != VIEW}
    if not (name := query.get(VIEW, "")):
        return rest
    known = of_path(context, path)
    if name not in known:
        wrong.append(f"There is no view '{name[:100]}' here.{suggestion(name[:100], known, limit=20)}")
        return rest
    _, _, search = known[name].partition("?")
    return {**address.parse(search), **rest}


def of_path(context: Context, path: str) -> dict[str, str]:
    """The named addresses of one view."""
    return {name: there for name, there in context.notes.views().items() if there.partition("?")[0] == path}


def bar(context: Context, view: str, path: str) -> html.Div | None:
    """The links, and the box where it may be written; None where there is neither.

    Args:
        view: the beginning of the elements' ids.
    """
    listed = html.Div(links(context, path), id=f"{view}-views", className="bar")
    if not context.write:
        return listed if listed.children else None
    box = dcc.Input(id=f"{view}-view-name", type="text", placeholder="name of this view")
    buttons = [html.Button(title, id=f"{view}-view-{word}", className="small") for word, title in _WORDS.items()]
    return html.Div([listed, html.Span(className="gap"), box, *buttons], className="bar")


_WORDS = {"save": "Save view", "forget": "Forget"}


def links(context: Context, path: str) -> list[Any]:
    """A link for each named view, by its short address."""
    named = [dcc.Link(name, href=address.link(path, {VIEW: name})) for name in of_path(context, path)]
    return [html.Span("Views:", className="label"), *named] if named else []


def changed(context: Context, path: str, word: str, name: Any, there: Any) -> list[Any]:
    """Save ("save") or forget the view of this name, and return the links.

    Args:
        there: the address of what is shown.

    Raises:
        NotWrittenError: writing is not allowed here, or it failed.
    """
    if not context.write:
        raise NotWrittenError("This page is read-only; start browse.py with --write to change things.")
    name = " ".join(name.split()) if isinstance(name, str) else ""
    if word == "save":
        if not isinstance(there, str) or there.partition("?")[0] != path or len(there) > address.LONGEST:
            raise NotWrittenError("This view has no address that could be saved.")
        context.notes.write_view(name, there)
    elif name not in (known := of_path(context, path)):
        raise NotWrittenError(f"There is no view '{name[:100]}' here.{suggestion(name[:100], known, limit=20)}")
    else:
        context.notes.write_view(name, None)
    return links(context, path)
