"""EPyMARL's algorithm files (config/algs/*.yaml, commit cbc38c0) as configs: the preset that computes the same.

What such a file leaves out is as in EPyMARL's default.yaml.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from utils.config.epymarl_keys import NS, PAGE, PRESETS, WITHOUT, instead_of, no_such_critic, ours_of
from utils.config.merging import config_path
from utils.errors import ConfigError
from utils.files.yaml_files import load_yaml
from utils.nearest import suggestion
from utils.plain_values import quoted

# EPyMARL's defaults of keys that its files may leave out, and that are not the environment's or the run's
DEFAULTS: dict[str, Any] = {
    "runner": "episode",
    "mac": "basic_mac",
    "agent": "rnn",
    "action_selector": "epsilon_greedy",
    "batch_size_run": 1,
    "batch_size": 32,
    "buffer_size": 32,
    "gamma": 0.99,
    "lr": 0.0005,
    "grad_norm_clip": 10,
    "add_value_last_step": True,
    "hidden_dim": 64,
    "obs_agent_id": True,
    "obs_last_action": True,
    "obs_individual_obs": False,
}
# the algorithm of a learner by its mixer, and by its critic here
Q_LEARNERS: dict[str | None, str] = {None: "iql", "vdn": "vdn", "qmix": "qmix"}
POLICY_LEARNERS: dict[str, dict[str | None, str]] = {
    "coma_learner": {"coma": "coma"},
    "actor_critic_learner": {"own": "ia2c", "state": "maa2c"},
    "ppo_learner": {"own": "ippo", "state": "mappo"},
    "maddpg_learner": {"maddpg": "maddpg"},
    "pac_learner": {"pac": "pac"},
    "pac_dcg_learner": {"pac_dcg": "pac_dcg"},
}
# learners whose buffer has a size
KEEPERS = ("coma_learner", "maddpg_learner", "pac_learner", "pac_dcg_learner")
# runners -> those that play the same episodes, compiled games as one batch
RUNNERS = {"parallel": "episodes"}
SEPARATE = {"agent": "rnn_ns", "mac": "non_shared_mac"}
# MADDPG's controller, for separate weights, too
DRAWING = {"maddpg_mac": "policy_mac"}
# keys that EPyMARL's learners do not read, either
IDLE = (
    "duelling",
    "optim_alpha",
    "optim_eps",
    "critic_q_fn",
    "critic_baseline_fn",
    "critic_train_mode",
    "critic_train_reps",
)
# keys by which a file is one of Muster's, although it has EPyMARL's evaluation_epsilon
OURS = ("rnn_hidden_dim", "optimizer", "share_params", "target_update_interval", "critic", "buffer", "plugins")


def is_epymarls(content: Mapping[str, Any]) -> bool:
    """Whether a config file is one of EPyMARL's algorithms: its learners need `critic_type` or `evaluation_epsilon`.

    A file that names plugins is Muster's: its parts may read EPyMARL's keys as they are.
    """
    if "learner" not in content or "plugins" in content:
        return False
    return "critic_type" in content or ("evaluation_epsilon" in content and not any(key in content for key in OURS))


def epymarls_config(path: Path, content: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The config that a file of EPyMARL's stands for, and what to say of it.

    Raises:
        ConfigError: its algorithm is not here, or it has a key that cannot be honoured.
    """
    theirs = {**DEFAULTS, **content}
    critic = _critic(path, theirs)
    name = PRESETS + _algorithm(path, theirs, critic.get("critic"))
    for key, why in WITHOUT.items():
        if content.get(key):
            raise ConfigError(f"{path}: {key} cannot be honoured: {why} ({PAGE}).")
    separate = [theirs[key] == name for key, name in SEPARATE.items()]
    if separate[0] != separate[1] and theirs["mac"] not in DRAWING:
        raise ConfigError(f"{path}: agent: rnn_ns and mac: non_shared_mac go together, in EPyMARL, too.")
    name += NS if separate[0] else ""
    config = load_yaml(config_path(name, "algs"))
    has_critic = theirs["learner"] in POLICY_LEARNERS
    idle = [key for key in content if key in IDLE]
    taken = {key: value for key, value in theirs.items() if key not in (*IDLE, *SEPARATE, "critic_type", "learner")}
    taken["runner"] = RUNNERS.get(taken["runner"], taken["runner"])
    config["rnn_hidden_dim"] = taken.pop("hidden_dim")
    sees_own = taken.pop("obs_individual_obs")
    if not separate[0]:
        config |= {"agent": theirs["agent"], "mac": DRAWING.get(theirs["mac"], theirs["mac"])}
    if has_critic:
        if (values := taken.pop("state_value_type", None)) is not None:
            if not (found := ours_of("state_value_type", values)):
                raise ConfigError(f"{path}: {no_such_critic(values, 'state_value_type')}")
            taken |= found
        config |= {"critic_hidden_dim": config["rnn_hidden_dim"], "critic_lr": None}
        config |= critic | _seen_by_critic(critic, theirs, sees_own)
        _require_newest_rollout(path, theirs, taken)
        drawing = theirs["mac"] in DRAWING
        if (drawing or theirs["action_selector"] == "soft_policies") and taken.pop("test_greedy", None) is not None:
            idle.append("test_greedy")  # it samples in tests, too
        unread = ["action_selector"] if drawing else []
        unread += ["add_value_last_step"] if drawing or theirs["learner"].startswith("pac") else []
        idle += [key for key in unread if key in content]
        for key in unread:
            del taken[key]
    else:
        taken.pop("add_value_last_step")
        idle += [key for key in ("add_value_last_step", "obs_individual_obs") if content.get(key)]
    note = f"{path}: EPyMARL's settings, as the preset {name} computes them."
    return {**config, **taken}, note + (f" Without effect, as in EPyMARL: {', '.join(idle)}." if idle else "")


def _critic(path: Path, theirs: Mapping[str, Any]) -> dict[str, Any]:
    """The critic's keys here; empty for a learner without one."""
    kind = theirs.get("critic_type")
    if theirs["learner"] not in POLICY_LEARNERS:
        return {}
    if not (found := ours_of("critic_type", kind)):
        raise ConfigError(f"{path}: {no_such_critic(kind)}")
    return found


def _algorithm(path: Path, theirs: Mapping[str, Any], critic: str | None) -> str:
    learner = theirs["learner"]
    if learner == "q_learner":
        key, value, known = "mixer", theirs.get("mixer"), Q_LEARNERS
    elif learner in POLICY_LEARNERS:
        key, value, known = "critic_type", critic, POLICY_LEARNERS[learner]
    else:
        names = ("q_learner", *POLICY_LEARNERS)
        raise ConfigError(
            f"{path}: learner={quoted(learner)} cannot be honoured."
            f"{instead_of(learner) or suggestion(str(learner), names)}"
        )
    if not isinstance(value, str | None) or value not in known:
        raise ConfigError(
            f"{path}: {key}={quoted(theirs.get(key))} does not go with learner={learner}."
            f"{suggestion(str(value), [str(name) for name in known])}"
        )
    return known[value]


def _seen_by_critic(critic: Mapping[str, Any], theirs: Mapping[str, Any], sees_own: Any) -> dict[str, Any]:
    """What the critic sees: EPyMARL's keys for agents are those for critics, too."""
    actions = theirs["obs_last_action"]
    match critic["critic"]:
        case "coma" | "maddpg":
            number = critic["share_critic_params"] and theirs["obs_agent_id"]
            return {"critic_own_obs": sees_own, "critic_last_actions": actions, "critic_agent_id": number}
        case "state" | "pac" | "pac_dcg":
            return {"critic_all_obs": sees_own, "critic_last_actions": actions}
    return {}


def _require_newest_rollout(path: Path, theirs: Mapping[str, Any], taken: dict[str, Any]) -> None:
    """Refuse PPO and A2C from older episodes than the newest; `taken` loses what learners of rollouts do not read."""
    if theirs["learner"] in KEEPERS:
        return
    sizes = {key: theirs[key] for key in ("batch_size_run", "batch_size", "buffer_size")}
    if len({*map(str, sizes.values())}) > 1:
        shown = ", ".join(f"{key}={quoted(value)}" for key, value in sizes.items())
        raise ConfigError(
            f"{path}: {shown}: they must be equal, as in EPyMARL's own files: {theirs['learner']} learns from the "
            f"newest rollout here, not from older ones ({PAGE})."
        )
    del taken["batch_size"], taken["buffer_size"]
