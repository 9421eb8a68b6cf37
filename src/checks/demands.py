"""Can the chosen parts take the environment's declared fields? Known once the environment exists."""

from collections.abc import Mapping
from typing import Any

from checks.registries import REGISTRIES, chosen_entry, reads
from envs.contract.fields import EnvSpec
from utils.errors import ConfigError

# Features that PyMARL's environments lack, and the parts that must take them: those that are built in, or
# declared, name it in their trait `takes`.
ASKED = {
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
    ),
}

# traits of agents: whether an environment shows what they need to see, and the words if it does not
SEES = {
    "needs_pictures": (
        lambda spec: any(len(field.shape) == 3 for field in spec.of_kind("observation").values()),
        "no picture, an observation of three axes",
    ),
    "needs_entities": (
        lambda spec: {"obs/own", "obs/enemies"} <= set(spec.fields),
        "no units; with Skirmish, set env_args.observation=entities",
    ),
}


def demands_of(spec: EnvSpec) -> dict[str, str]:
    """The demands on one team's parts, and in words why."""
    actions, rewards = spec.of_kind("action"), [spec.fields[path] for path in spec.rewards()]
    continuous = [path for path, field in actions.items() if not field.categorical]
    demands = {}
    if continuous:
        demands["continuous"] = f"continuous actions ({', '.join(continuous)})"
    if len(actions) > 1:
        demands["branches"] = f"several actions at a time ({', '.join(actions)})"
    if not demands and (missing := [path for path in ("actions", "avail_actions") if path not in spec.fields]):
        demands["other_actions"] = f"actions without the field {' and '.join(missing)}"
    if any(field.group is not None for field in rewards):
        demands["agent_rewards"] = "a reward for each agent"
    if "actors" in spec.fields:
        demands["entities"] = "actors that act by the entities they see"
    if "present" in spec.fields:
        demands["absent_agents"] = "agents that come and go (the field present)"
    if "state" not in spec.fields:
        demands["no_state"] = "no field state"
    return demands


def check_demands(spec: EnvSpec, config: Mapping[str, Any]) -> None:
    """Refuse parts that cannot take the fields of one team of the environment.

    Raises:
        ConfigError: names the part, the field that it cannot take, and parts of its kind that can; or the agent, and
            what it does not see.
    """
    agent = chosen_entry(config, "agent")
    for trait, (shows, what) in SEES.items() if agent is not None else ():
        if agent.traits.get(trait) and not shows(spec):
            raise ConfigError(f"agent={config['agent']}: the environment shows {what}.")
    for demand, why in demands_of(spec).items():
        for key in ASKED[demand]:
            entry = chosen_entry(config, key)
            if entry is None or not entry.declared or demand in entry.traits.get("takes", ()):
                continue
            if key in ("mixer", "critic") and key not in (reads(config, "learner") or ()):
                continue
            registry = REGISTRIES[key]
            taking = [name for name in registry if demand in registry.entry(name).traits.get("takes", ())]
            remedy = f"These do: {', '.join(taking)}." if taking else _remedy(demand, key, registry.kind, config)
            raise ConfigError(f"{key}={config[key]} does not go with env={config['env']}, which has {why}. {remedy}")


def _remedy(demand: str, key: str, kind: str, config: Mapping[str, Any]) -> str:
    """What to use, since no part of its kind takes what is asked for."""
    if (demand, key) not in INSTEAD:
        return f"No {kind} that is built in does."
    shared = demand == "agent_rewards" and not config.get("common_reward", True)
    return INSTEAD[demand, key] + (", or common_reward=True, for the team's reward." if shared else ".")
