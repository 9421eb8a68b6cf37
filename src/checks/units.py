"""Are the listed transforms there, and do they stand in an order that works?"""

from checks.registries import chosen_name
from components.buffers.transform_lists import transforms_of


def check_units(config: dict) -> None:
    """Refuse unknown units and options, and units that do not take what the one before makes.

    Raises:
        ConfigError: names the key, the unit and a remedy.
    """
    transforms_of({**config, "buffer": chosen_name(config, "buffer")})
