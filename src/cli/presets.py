"""The presets of algorithms, config/algs/*.yaml, and what each of them suits: for the reference."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from learners import REGISTRY as learners
from utils.config.merging import CONFIG_DIR, config_names, shared_defaults
from utils.files.yaml_files import load_yaml

CHOICES, CONTINUOUS = "choices", "continuous"


class Preset(NamedTuple):
    """`first_keys`: what one sets first, with the preset's values."""

    name: str
    title: str
    learner: str
    actions: str
    data: str
    first_keys: str


# of each, those that the preset's file has
SIZES = ("batch_size_run", "rollout_steps", "batch_size", "buffer_size")
FIRST_KEYS = ("lr", *SIZES, "epsilon_anneal_time", "entropy_coef")


def all_presets() -> list[Preset]:
    return [_preset(name) for name in config_names("algs")]


def actions_of(config: Mapping[str, Any]) -> str:
    """Which actions an algorithm learns."""
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
    return Preset(name, title, config["learner"], actions_of(config), data, first)
