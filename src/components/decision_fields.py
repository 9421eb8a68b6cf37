"""Fields of decisions by which an action selector remembers: the next choice gets those of the step before."""

from collections.abc import Mapping
from typing import Any

from components.action_selectors import REGISTRY
from utils.config.registry import Registry

# for how many more steps an agent repeats its action
EXPLORES_FOR = "explores_for"


def remembered_fields(selector: Any) -> Mapping[str, Mapping[str, Any]]:
    """The trait `batch_fields` of the selector of this name; nothing for one of which nothing is known."""
    # a file of PyMARL's in place of components/action_selectors.py has a plain dict
    selectors = Registry.of("action selector", REGISTRY)
    return selectors.entry(selector).traits.get("batch_fields", {}) if selector in selectors else {}
