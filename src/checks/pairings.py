"""Do the parts go together? Told from their declarations in the registries, and nowhere else."""

from collections.abc import Collection

from checks.parts import ChosenParts
from checks.registries import OPTIONAL, REGISTRIES
from envs import batched_names, has_batched_form, why_together
from runners.sources import why_whole
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted
from vector_envs.threads import names_with_threads, takes_threads

# traits that name the parts of another kind that a part goes with
GOES_WITH = {
    "controllers": "mac",
    "agents": "agent",
    "action_selectors": "action_selector",
    "learners": "learner",
    "buffers": "buffer",
    "mixers": "mixer",
    "critics": "critic",
    "runners": "runner",
}


def check_pairings(parts: ChosenParts) -> None:
    """Refuse unknown parts, and parts that do not fit each other or the environment.

    Raises:
        ConfigError: names the misfit and a remedy.
    """
    for kind in REGISTRIES:
        _require_known(parts, kind)
    _check_lag(parts)
    _check_outputs(parts)
    for kind, _ in parts:
        _check_named(parts, kind)
    _check_mixer(parts)
    _check_priorities(parts)
    if parts.is_used("critic"):
        _check_critic(parts)
    _check_source(parts)
    if parts.traits("runner").get("cuts_episodes"):
        _check_whole_episodes(parts)
    if parts.traits("env").get("streams"):
        _check_streams(parts)


def _require_known(parts: ChosenParts, kind: str) -> None:
    name, registry = parts.name(kind), REGISTRIES[kind]
    if kind not in parts.config or not parts.is_looked_up(kind) or (kind in OPTIONAL and name is None):
        return
    try:
        registry.entry(name)
    except ConfigError as error:
        if kind == "runner":
            hint = suggestion(quoted(name), [*registry, "collectors"])
            raise ConfigError(f"runner={quoted(name)}: there is no such runner.{hint}") from None
        raise ConfigError(f"{kind}={quoted(name)}: {error}") from None


def _check_lag(parts: ChosenParts) -> None:
    config = parts.config
    if not (parts.traits("collection").get("lag") and parts.traits("learner").get("on_policy")):
        return
    older = " (overlap=True)" if config["overlap"] else ""
    corrects = "vtrace" in (parts.reads("learner") or ())
    if not (corrects and config.get("vtrace")):
        also = " vtrace=True corrects for older ones." if corrects else ""
        raise ConfigError(
            f"collection={config['collection']}{older} does not go with learner={config['learner']}, which learns only "
            f"from rollouts of its newest weights.{also} Use collection=sync, and another runner than collectors."
        )
    for setting, remedy in parts.of_all_rollouts():
        if config["collection"] == "collectors":
            raise ConfigError(
                f"{setting} remembers the same environments from one rollout to the next, and collectors take turns. "
                f"{remedy}"
            )


def _check_outputs(parts: ChosenParts) -> None:
    """Refuse a learner, a selector or greedy episodes of training that do not take the agent's outputs."""
    config = parts.config
    output = config["agent_output_type"]
    wanted = parts.traits("learner").get("learns_from", output)
    if output != wanted:
        raise ConfigError(
            f"agent_output_type={output} does not go with learner={config['learner']}, which learns from '{wanted}'."
        )
    if parts.is_used("action_selector") and parts.traits("action_selector").get("takes", output) != output:
        raise ConfigError(
            f"action_selector={config['action_selector']} does not go with agent_output_type={output}. "
            f"These do: {_names('action_selector', 'takes', (output,))}."
        )
    greedy_by = parts.traits("env").get("greedy_by")
    if output != "q" and config["env_args"].get(greedy_by):
        raise ConfigError(
            f"env_args.{greedy_by}={config['env_args'][greedy_by]} does not go with agent_output_type={output}: only "
            "learners of values play some episodes of training greedily."
        )


def _check_named(parts: ChosenParts, kind: str) -> None:
    """Refuse parts that are none of those that the part of `kind` names."""
    for trait, other in GOES_WITH.items():
        wanted, entry = parts.traits(kind).get(trait), parts.entry(other)
        wanted = (wanted,) if isinstance(wanted, str) else wanted
        if wanted is None or parts.name(other) in wanted:
            continue
        # a learner may go without a mixer, but not one that names its mixers
        if (entry is None or not entry.declared) and not (other == "mixer" and parts.name(other) is None):
            continue
        if parts.is_used(kind) and parts.is_used(other) and not (other == "buffer" and parts.config["evaluate"]):
            raise ConfigError(
                f"{other}={_spelled(parts.name(other))} does not go with {kind}={parts.name(kind)}. With this "
                f"{kind}, use {other}={' or '.join(wanted)}."
            )


def _spelled(name: str | None) -> str:
    """As a config has it."""
    return "null" if name is None else name


def _check_mixer(parts: ChosenParts) -> None:
    mixes, accepted = parts.traits("mixer").get("mixes"), parts.traits("learner").get("mixes")
    if mixes is None or accepted is None or mixes in accepted:
        return
    choice = " or ".join(filter(None, ["null" if "nothing" in accepted else "", _names("mixer", "mixes", accepted)]))
    raise ConfigError(
        f"mixer={_spelled(parts.name('mixer'))} does not go with learner={parts.name('learner')}. With this "
        f"learner, use mixer={choice}."
    )


def _check_priorities(parts: ChosenParts) -> None:
    alpha, entry = parts.config.get("priority_alpha"), parts.entry("learner")
    if not alpha or entry is None or not entry.declared or entry.traits.get("weighs") or parts.config["evaluate"]:
        return
    raise ConfigError(
        f"priority_alpha={alpha}: learner={parts.name('learner')} gives no priorities to draw by. These do: "
        f"{_names('learner', 'weighs', (True,))}."
    )


def _check_critic(parts: ChosenParts) -> None:
    critic, learner, mac = (parts.name(kind) for kind in ("critic", "learner", "mac"))
    wanted, offered = parts.traits("learner").get("values"), parts.traits("critic").get("values")
    if None not in (wanted, offered) and wanted != offered:
        raise ConfigError(
            f"critic={critic} does not go with learner={learner}, which learns from values of {wanted}. These do: "
            f"{_names('critic', 'values', (wanted,))}."
        )
    if not parts.traits("critic").get("of_mac"):
        return
    pace, entry = parts.config.get("target_update_interval_or_tau"), parts.entry("mac")
    if pace is not None:
        raise ConfigError(
            f"target_update_interval_or_tau={pace} gives the critic a target network, which critic={critic} cannot "
            "have, as it is a part of the policy. Use another critic, or null."
        )
    if entry is not None and entry.declared and not entry.traits.get("values"):
        raise ConfigError(
            f"critic={critic} needs a controller that has values itself, which mac={mac} does not. "
            f"These do: {_names('mac', 'values', (True,))}."
        )


def _check_source(parts: ChosenParts) -> None:
    """Refuse a source that the environment, or the runner's stepping in halves, does not go with."""
    config, env, source = parts.config, parts.config["env"], parts.name("vector_env")
    if parts.traits("vector_env").get("batches"):
        if not has_batched_form(env, config["env_args"]):
            these = " with these env_args" if env in batched_names() else ""
            raise ConfigError(
                f"vector_env={source} needs an environment that exists as one batch of many copies, which "
                f"env={env}{these} does not. These do: {', '.join(batched_names())}. "
                "Use vector_env=workers or in_process for the others."
            )
        _check_together(parts)
        if config["env_threads"] > 1 and not takes_threads(env):
            raise ConfigError(
                f"env_threads={config['env_threads']}: env={env} steps its copies in one thread. Use env_threads=1. "
                f"These take threads: {', '.join(names_with_threads())}."
            )
    halves = "double_buffering" in (parts.reads("runner") or ()) and config["double_buffering"] == "on"
    if halves and (why := why_whole(config, source)):
        raise ConfigError(
            "double_buffering=on steps one half of the environments while the other half is decided for, which does "
            f"not work here, because {why}. Use double_buffering=off."
        )


def _check_whole_episodes(parts: ChosenParts) -> None:
    """Refuse a runner whose rollouts are pieces of episodes, where whole ones are learned from."""
    learner, runner = parts.name("learner"), parts.name("runner")
    for kind, trait in (("learner", "needs_episodes"), ("mixer", "recurrent")):
        if parts.traits(kind).get(trait):
            raise ConfigError(
                f"{kind}={parts.name(kind)} learns from whole episodes, and runner={runner} cuts them into pieces. Use "
                "runner=batched or runner=parallel."
            )
    # a piece continues from the memory before it, which was another policy's in older ones
    if parts.traits("learner").get("on_policy") and parts.name("buffer") == "episodes" and parts.is_used("learner"):
        raise ConfigError(
            f"buffer=episodes keeps whole episodes for learner={learner}, and runner={runner} cuts them into pieces. "
            "Use buffer=rollout, or runner=episodes."
        )


def _check_together(parts: ChosenParts) -> None:
    """Refuse a runner whose copies restart while others play, where the batch cannot do that."""
    config, outlasts = parts.config, parts.traits("runner").get("outlasts")
    restarts = outlasts is not None and all(config[key] == value for key, value in outlasts.items())
    if (restarts or parts.traits("runner").get("cuts_episodes")) and (
        why := why_together(config["env"], config["env_args"])
    ):
        raise ConfigError(f"runner={parts.name('runner')}: {why}")


def _check_streams(parts: ChosenParts) -> None:
    """Refuse parts that would take the episodes of several agents, which come and go, for one."""
    where = f"env={parts.name('env')}: agents come and go within an episode of the run"
    if not parts.traits("runner").get("cuts_episodes"):
        raise ConfigError(
            f"{where}, and runner={parts.name('runner')} plays whole ones. Use runner=rollout, as ppo does."
        )
    if not parts.traits("learner").get("on_policy"):
        raise ConfigError(
            f"{where}, which learner={parts.name('learner')} cannot tell apart. Use --config=ppo, or another preset "
            "that learns from its newest rollouts."
        )
    keys = ("obs_last_action", "obs_mean_action")
    of_agents = [(f"{key}=True", f"Use {key}=False.") for key in keys if parts.config.get(key)]
    for setting, remedy in of_agents + parts.critic_memory():
        raise ConfigError(f"{where}, and {setting} would remember for whoever had the row. {remedy}")


def _names(kind: str, trait: str, wanted: Collection) -> str:
    registry = REGISTRIES[kind]
    return ", ".join(name for name in registry if registry.entry(name).traits.get(trait) in wanted)
