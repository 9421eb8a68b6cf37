"""Which config key names an entry of which registry."""

from components.action_selectors import REGISTRY as action_selectors
from controllers import REGISTRY as controllers
from envs import REGISTRY as environments
from learners import REGISTRY as learners
from modules.agents import REGISTRY as agents
from modules.critics import REGISTRY as critics
from modules.mixers import REGISTRY as mixers
from runners import REGISTRY as runners
from runners.transports import REGISTRY as transports
from utils.registry import Registry

REGISTRIES: dict[str, Registry] = {
    "env": environments,
    "runner": runners,
    "env_transport": transports,
    "mac": controllers,
    "agent": agents,
    "action_selector": action_selectors,
    "learner": learners,
    "mixer": mixers,
    "critic": critics,
}


def has_foreign_part(config: dict) -> bool:
    """Whether the config names a part that is not built in: such a part may read keys of its own."""
    return any(
        config.get(key) in registry and not registry.entry(config[key]).declared
        for key, registry in REGISTRIES.items()
        if isinstance(config.get(key), str)
    )
