"""What the cards of a run's view are drawn from."""

from dataclasses import dataclass, field

from browser.page.parts.context import Context
from browser.reading import Run


@dataclass(frozen=True)
class RunRequest:
    """A run whose view is asked for.

    Attributes:
        query: of the address; empty when a card is drawn again.
    """

    context: Context
    run: Run
    query: dict[str, str] = field(default_factory=dict)
