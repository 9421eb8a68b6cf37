"""Can the chosen parts take the environment's declared fields? Known once the environment exists."""

from collections.abc import Mapping
from math import prod
from typing import Any

from checks.parts import ChosenParts
from checks.registries import REGISTRIES
from components.sampling import REGISTRY as transforms
from components.sampling.listed import listed_names
from envs.contract.fields import EnvSpec
from envs.contract.infos import warn_once
from utils.errors import ConfigError

# Features that PyMARL's environments lack, and the parts that must take them: those that are built in, or
# declared, name it in their trait `takes`.
TAKEN_BY = {
    "continuous": ("mac", "learner"),
    "branches": ("mac", "learner"),
    "other_actions": ("mac", "learner"),
    "agent_rewards": ("learner", "mixer"),
    "no_state": ("mixer", "critic"),
    "absent_agents": ("mixer",),
    "entities": ("mac", "learner", "critic"),
}
# what to use where no part of a kind takes a feature
INSTEAD = {
    ("agent_rewards", "mixer"): (
        "Use mixer=null, with which each agent learns from its own reward, as the presets iql and epymarl_iql do"
    )
}

# the fewest pixels of a picture's side that agent=cnn takes
SIDE = 4

# traits of agents: whether an environment shows or says what they need, and the words if it does not
SEES = {
    "needs_pictures": (
        lambda spec: any(len(field.shape) == 3 for field in spec.of_kind("observation").values()),
        "shows no picture, an observation of three axes",
    ),
    "needs_entities": (
        lambda spec: {"obs/own", "obs/enemies"} <= set(spec.fields),
        "shows no units; with Skirmish, set env_args.observation=entities",
    ),
    "needs_meaning": (
        lambda spec: spec.env_info.get("meaning") is not None,
        "does not say what its numbers and actions mean: it has no meaning() (docs/fields.md)",
    ),
}
# the same of mixers and critics
STATES = {
    "needs_state_entities": (
        lambda spec: bool(getattr(spec.env_info.get("meaning"), "state", ())),
        "does not say which entities its state has (meaning(), docs/fields.md)",
    ),
}


def requirements_of(spec: EnvSpec) -> dict[str, str]:
    """What one team's parts are required to take, and in words why."""
    actions, rewards = spec.of_kind("action"), [spec.fields[path] for path in spec.rewards()]
    continuous = [path for path, field in actions.items() if not field.categorical]
    found = {}
    if continuous:
        found["continuous"] = f"continuous actions ({', '.join(continuous)})"
    if len(actions) > 1:
        found["branches"] = f"several actions at a time ({', '.join(actions)})"
    if not found and (missing := [path for path in ("actions", "avail_actions") if path not in spec.fields]):
        found["other_actions"] = f"actions without the field {' and '.join(missing)}"
    if any(field.group is not None for field in rewards):
        found["agent_rewards"] = "a reward for each agent"
    if "actors" in spec.fields:
        found["entities"] = "actors that act by the entities they see"
    if "present" in spec.fields:
        found["absent_agents"] = "agents that come and go (the field present)"
    if "state" not in spec.fields:
        found["no_state"] = "no field state"
    return found


def check_requirements(spec: EnvSpec, config: Mapping[str, Any]) -> None:
    """Refuse parts that cannot take the fields of one team of the environment.

    Raises:
        ConfigError: names the part, the field that it cannot take, and parts of its kind that can; or the agent, and
            what it does not see.
    """
    parts = ChosenParts(config)
    for kind, traits in (("agent", SEES), ("mixer", STATES), ("critic", STATES)):
        for trait, (shows, what) in traits.items():
            if parts.traits(kind).get(trait) and not shows(spec):
                raise ConfigError(f"{kind}={config[kind]}: the environment {what}.")
    for name in listed_names(config.get("sample_transforms", ())):
        if transforms.entry(name).traits.get("needs_meaning"):
            _check_needs_meaning(spec, name, parts)
    if parts.traits("agent").get("sees_rows") and (caution := _of_pictures(spec, config["agent"])):
        warn_once(caution)
    for feature, why in requirements_of(spec).items():
        for kind in TAKEN_BY[feature]:
            entry, registry = parts.entry(kind), REGISTRIES[kind]
            if entry is None or not entry.declared or feature in entry.traits.get("takes", ()):
                continue
            if kind in ("mixer", "critic") and not parts.is_used(kind):
                continue
            taking = [name for name in registry if feature in registry.entry(name).traits.get("takes", ())]
            remedy = f"These do: {', '.join(taking)}." if taking else _remedy(feature, kind, config)
            raise ConfigError(f"{kind}={config[kind]} does not go with env={config['env']}, which has {why}. {remedy}")


def _check_needs_meaning(spec: EnvSpec, name: str, parts: ChosenParts) -> None:
    shows, what = SEES["needs_meaning"]
    if not shows(spec):
        raise ConfigError(f"sample_transforms: '{name}': the environment {what}.")
    if parts.traits("learner").get("on_policy"):
        raise ConfigError(
            f"sample_transforms: '{name}' is for learners with a replay buffer: what a policy stored with its actions "
            f"would not fit the new order. learner={parts.name('learner')} has none."
        )


def _of_pictures(spec: EnvSpec, agent: str) -> str:
    """What to know of an agent that sees a picture as a row of numbers; "" without pictures."""
    for path, field in spec.of_kind("observation").items():
        picture = field.group is not None and len(field.shape) == 3 and field.dtype == "uint8"
        # smaller ones are not for convolutions
        if picture and not field.about and sorted(field.shape)[1] >= SIDE:
            numbers = f"{prod(field.shape):,}"
            return f"agent={agent} sees the picture '{path}' as a row of {numbers} numbers; agent=cnn has convolutions."
    return ""


def _remedy(feature: str, kind: str, config: Mapping[str, Any]) -> str:
    """What to use, since no part of its kind takes the feature."""
    if (feature, kind) not in INSTEAD:
        return f"No {REGISTRIES[kind].kind} that is built in does."
    shared = feature == "agent_rewards" and not config.get("common_reward", True)
    return INSTEAD[feature, kind] + (", or common_reward=True, for the team's reward." if shared else ".")
