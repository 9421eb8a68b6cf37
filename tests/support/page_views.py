"""Views of the page as plain functions: what they show, without a browser."""

from types import SimpleNamespace

from browser.page.parts.context import Context
from browser.reading import Results


def context_of(root, write=False):
    """A results folder as the views see it, read without a cache."""
    return Context(Results(root, cache=None), write)


def later(context):
    """The context, which looks at the folder again at once."""
    context.forget_scan()
    return context


def compared(view, context, query, revision=None):
    """The parts of a `ComparisonView` by name, with what is wrong, its address and its revision."""
    names = (*view.parts, "wrong", "address", "revision")
    return SimpleNamespace(**dict(zip(names, view.refreshed(context, query, revision), strict=True)))


def parts_of(element, kind):
    """All parts with this name of a component, in order."""
    if isinstance(element, list | tuple):
        return [found for part in element for found in parts_of(part, kind)]
    if not hasattr(element, "to_plotly_json"):
        return []
    own = [element] if type(element).__name__ == kind else []
    return own + parts_of(getattr(element, "children", None), kind)


def text_of(element):
    """All that a part holds, as one text."""
    if isinstance(element, list | tuple):
        return " ".join(map(text_of, element))
    return str(element.to_plotly_json()) if hasattr(element, "to_plotly_json") else str(element)


def links_in(element):
    """The addresses of a part's links by their texts."""
    return {str(link.children): link.href for link in parts_of(element, "Link")}
