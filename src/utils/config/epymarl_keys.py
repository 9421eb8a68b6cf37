"""EPyMARL's names of config keys, parts and presets (commit cbc38c0) that are others here: what stands for each."""

from collections.abc import Mapping
from typing import Any

from utils.nearest import suggestion
from utils.plain_values import quoted

PAGE = "docs/pymarl.md#epymarls-keys"
PRESETS = "epymarl_"
# key -> the keys here that take its value, as far as parts read them
SEVERAL = {
    "hidden_dim": ("rnn_hidden_dim", "critic_hidden_dim"),
    "obs_individual_obs": ("critic_own_obs", "critic_all_obs"),
}
# `critic_type` -> the critic here; with the ending NS, each agent has its own
CRITICS = {"coma_critic": "coma", "ac_critic": "own", "cv_critic": "state", "maddpg_critic": "maddpg"}
CRITICS |= {"pac_critic": "pac", "pac_dcg_critic": "pac_dcg"}
NS = "_ns"
# keys that nothing reads, there either
WITHOUT = {"duelling": "its critics do not read it"}
# names of parts and of presets -> what to do instead
NAMES = {
    "rnn_ns": "EPyMARL's agent rnn_ns is agent=rnn share_params=False here.",
    "rnn_feat": "EPyMARL's agent rnn_feat is a part of critic=pac_dcg here.",
    "non_shared_mac": "EPyMARL's non_shared_mac is mac=basic_mac share_params=False here.",
    "actor_critic_learner": "EPyMARL's actor_critic_learner is learner=a2c_learner here.",
    "maddpg_mac": "EPyMARL's maddpg_mac is mac=policy_mac here.",
}


def ours_of(key: str, value: Any) -> dict[str, Any]:
    """The keys here, with their values, that a key of EPyMARL's stands for; empty for any other, and for null."""
    if value is None:
        return {}
    if key in SEVERAL:
        return dict.fromkeys(SEVERAL[key], value)
    if key == "critic_type" and isinstance(value, str) and (name := CRITICS.get(value.removesuffix(NS))):
        own = value.endswith(NS)
        return {"critic": name, "share_critic_params": not own, "critic_agent_id": not own}
    if key == "state_value_type" and isinstance(value, str) and (name := CRITICS.get(value.removesuffix(NS))):
        return {"value_critic": name}
    return {}


def with_ours(config: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """One layer of a config, with the keys that those of EPyMARL's in it stand for; those that it has stay.

    Args:
        defaults: values that count as if the layer did not have them.
    """
    found = dict(config)
    for key, value in config.items():
        for name, own in ours_of(key, value).items():
            if name not in config or (name in defaults and config[name] == defaults[name]):
                found[name] = own
    return found


def comes_from_epymarls(key: str, config: Mapping[str, Any]) -> bool:
    """Whether a key of EPyMARL's that the config has, too, gave this one its value, which no part may read."""
    return any(
        key in (own := ours_of(theirs, config.get(theirs))) and own[key] == config.get(key)
        for theirs in (*SEVERAL, "critic_type", "state_value_type")
    )


def no_such_critic(kind: Any, key: str = "critic_type") -> str:
    """The message on a `critic_type`, or another key, that is not in the table."""
    known = [f"{name}{ending}" for name in CRITICS for ending in ("", NS)]
    return f"{key}={quoted(kind)}: there is no such critic.{instead_of(kind) or suggestion(str(kind), known)}"


def without(key: str) -> str:
    """The sentence about a key of an algorithm of EPyMARL's that is not here, after a space; "" for any other."""
    return f" It is EPyMARL's: {WITHOUT[key]} ({PAGE})." if key in WITHOUT else ""


def instead_of(name: Any) -> str:
    """The sentence about a name of a part or preset of EPyMARL's, after a space; "" for any other."""
    return f" {NAMES[name]}" if isinstance(name, str) and name in NAMES else ""
