"""The registry of each config key that names a part."""

from collection import REGISTRY as ways_of_collection
from collection.opponents import REGISTRY as opponents
from components.action_selectors import REGISTRY as action_selectors
from components.buffers import REGISTRY as buffers
from controllers import REGISTRY as controllers
from envs import REGISTRY as environments
from learners import REGISTRY as learners
from learners.intrinsic import REGISTRY as intrinsic_rewards
from modules.agents import REGISTRY as agents
from modules.critics import REGISTRY as critics
from modules.mixers import REGISTRY as mixers
from runners import REGISTRY as runners
from utils.config.registry import Registry
from vector_envs import REGISTRY as sources
from vector_envs import TRANSPORTS

REGISTRIES: dict[str, Registry] = {
    "env": environments,
    "runner": runners,
    "vector_env": sources,
    "env_transport": TRANSPORTS,
    "mac": controllers,
    "agent": agents,
    # a file of PyMARL's in place of components/action_selectors.py has a plain dict
    "action_selector": Registry.of("action selector", action_selectors),
    "learner": learners,
    "collection": ways_of_collection,
    "opponents": opponents,
    "buffer": buffers,
    "mixer": mixers,
    "critic": critics,
    "intrinsic": intrinsic_rewards,
}
# which a run may go without, by null
OPTIONAL = ("mixer", "intrinsic")
# of a buffer: the learner decides
AUTO = "auto"
# which part looks up the names of which others; assembly looks up the rest
LOOKED_UP_BY = {
    "mixer": "learner",
    "critic": "learner",
    "intrinsic": "learner",
    "agent": "mac",
    "action_selector": "mac",
    "vector_env": "runner",
    "env_transport": "vector_env",
}
