"""What only a part itself knows of its options: several that do not fit together, or options within one."""

from collections.abc import Mapping

from checks.registries import chosen
from utils.config.registry import loaded


def check_parts(config: Mapping) -> None:
    """Refuse settings by the checks that the chosen parts declare: the trait `check`, "module:function" of the config.

    Raises:
        ConfigError: a part refuses them.
    """
    for _, entry in chosen(config):
        if entry is not None and (check := loaded(entry.traits.get("check"))) is not None:
            check(config)
