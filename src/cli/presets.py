"""The presets of algorithms, config/algs/*.yaml, in groups, and what each of them suits: for lists of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from learners import REGISTRY as learners
from modules.agents import REGISTRY as agents
from utils.config.merging import CONFIG_DIR, config_names, shared_defaults
from utils.files.yaml_files import load_yaml

CHOICES, CONTINUOUS, OF_ENTITIES = "choices", "continuous", "of entities"
ONE_AGENT, COMMUNICATION = "one agent", "communication"
# critics that see what one agent sees
OF_ONE = ("own", "q_own", "quantiles_own", "trunk")
# groups of presets in their order, by the trait `kind` of learners, and by what agents see and hear
KINDS = {
    "value decomposition": "Value decomposition, and values of each agent",
    "policy gradients": "Policy gradients",
    COMMUNICATION: "Messages between agents",
    "actor-critic": "Actor-critic from a replay buffer",
    ONE_AGENT: "One agent, or each of several for itself",
    # of plugins
    None: "Others",
}
# by the first part of a preset's name: as other programs have them
PROGRAMS = {
    "epymarl": "With EPyMARL's settings and arithmetic",
    "pymarl2": "With PyMARL2's settings and arithmetic",
    "pymarl3": "With PyMARL3's settings and arithmetic",
    "pymarlzoo": "With PyMARLzoo+'s settings and arithmetic",
}


class Preset(NamedTuple):
    """`group`: a title of KINDS or PROGRAMS; `first_keys`: what one sets first, with the preset's values."""

    name: str
    title: str
    group: str
    learner: str
    actions: str
    data: str
    first_keys: str


# of each, those that the preset's file has
SIZES = ("batch_size_run", "rollout_steps", "batch_size", "buffer_size")
FIRST_KEYS = ("lr", *SIZES, "epsilon_anneal_time", "entropy_coef")


def all_presets() -> list[Preset]:
    return [_preset(name) for name in config_names("algs")]


def by_group() -> dict[str, list[Preset]]:
    """All presets by the titles of their groups, in the order of these."""
    found = all_presets()
    titles = [*KINDS.values(), *PROGRAMS.values()]
    return {title: of_it for title in titles if (of_it := [one for one in found if one.group == title])}


def group_of(name: str, config: Mapping[str, Any]) -> str:
    """The title of the group that an algorithm is in."""
    if program := PROGRAMS.get(name.partition("_")[0]):
        return program
    kind = learners.entry(config["learner"]).traits.get("kind")
    if config["agent"] in agents and agents.entry(config["agent"]).traits.get("communicates"):
        return KINDS[COMMUNICATION]
    # a network of one agent has nothing to tell it from others
    alone = not config["obs_agent_id"] and config["mac"] in ("policy_mac", "actor_mac") and config["critic"] in OF_ONE
    return KINDS[ONE_AGENT if alone else kind if kind in KINDS else None]


def equal_to(path: Path) -> str:
    """Which presets compute what other programs' files of this name compute, a sentence; "" if none does."""
    names = [name for program in PROGRAMS if (name := f"{program}_{path.stem}") in config_names("algs")]
    return f" Presets that equal other programs' files of this name: {', '.join(names)}." if names else ""


def actions_of(config: Mapping[str, Any]) -> str:
    """Which actions an algorithm learns."""
    if config["mac"] == "entity_mac":
        return OF_ENTITIES
    if "continuous" not in learners.entry(config["learner"]).traits.get("takes", ()):
        return CHOICES
    of_these_only = config.get("noise") in ("gaussian", "ou") or config.get("policy_gradient") == "score"
    return CONTINUOUS if of_these_only else f"{CHOICES}, {CONTINUOUS}"


def _preset(name: str) -> Preset:
    path = CONFIG_DIR / "algs" / f"{name}.yaml"
    own = load_yaml(path)
    config = {**shared_defaults(), **own}
    traits = learners.entry(config["learner"]).traits
    title = path.read_text().partition("\n")[0].lstrip("# ")
    data = "the newest rollout" if traits.get("on_policy") else "a replay buffer"
    first = ", ".join(f"{key}={own[key]}" for key in FIRST_KEYS if key in own and not isinstance(own[key], list))
    return Preset(name, title, group_of(name, config), config["learner"], actions_of(config), data, first)
