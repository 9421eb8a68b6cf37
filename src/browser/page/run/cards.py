"""The cards of a run's view: a new one is a module with a function that draws it, and its row here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dash import Dash

from browser.page.parts.context import Context
from browser.page.run import console, curves, data, doctor, facts, files, inside, notes, ratings
from browser.page.run.request import RunRequest


@dataclass(frozen=True)
class Card:
    """A card, or several that change together.

    Attributes:
        name: its element is "card-<name>".
        draw: makes it; None where there is nothing to show.
        follows: what it shows, as a value that changes when that does: it is then drawn again. None: it is drawn once.
        register: its callbacks.
        narrow: rows that follow each other and are narrow stand side by side.
    """

    name: str
    draw: Callable[[RunRequest], Any]
    follows: Callable[[RunRequest], object] | None = None
    register: Callable[[Dash, Context], None] | None = None
    narrow: bool = False


# in their order on the page
CARDS = (
    Card("head", facts.head, facts.status),
    Card("overview", facts.overview, narrow=True),
    Card("time", facts.time, facts.progress, narrow=True),
    Card("machine", facts.machine, narrow=True),
    Card("crash", facts.crash),
    Card("doctor", doctor.draw, doctor.follows),
    Card("sessions", facts.sessions),
    Card("panel", facts.panel),
    Card("config", facts.config),
    Card("data", data.draw),
    Card("curves", curves.draw, register=curves.register),
    Card("ratings", ratings.draw, ratings.follows),
    Card("inside", inside.draw, inside.follows),
    Card("notes", notes.draw, register=notes.register),
    Card("console", console.draw, register=console.register),
    Card("files", files.draw, files.follows, files.register),
)
