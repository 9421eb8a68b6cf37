"""Do the parts go together? Told from their declarations in the registries, and nowhere else."""

from checks.registries import AUTO, REGISTRIES, chosen_entry, chosen_name, looked_up, reads
from checks.streams import check_streams
from envs import batched_names, has_batched_form
from runners.sources import source_of, why_as_many_tests, why_whole
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import shown
from vector_envs.threads import names_with_threads, takes_threads


def check_pairings(config: dict) -> None:
    """Refuse unknown parts, parts that do not fit each other, and sizes that do not fit the parts.

    Raises:
        ConfigError: names the misfit and a remedy.
    """
    traits = {}
    for key, registry in REGISTRIES.items():
        name = chosen_name(config, key)
        if name is None and key == "mixer":
            traits[key] = {"mixes": "nothing"}
            continue
        if key not in config or not (looked_up(config, key) or name in registry):
            traits[key] = {}
            continue
        try:
            traits[key] = registry.entry(name).traits
        except ConfigError as error:
            if key == "runner":
                hint = suggestion(shown(name), [*registry, "collectors"])
                raise ConfigError(f"runner={shown(name)}: there is no such runner.{hint}") from None
            raise ConfigError(f"{key}={shown(name)}: {error}") from None
    if traits["acting"].get("lag") and traits["learner"].get("on_policy"):
        older = " (overlap=True)" if config["overlap"] else ""
        raise ConfigError(
            f"acting={config['acting']}{older} does not go with learner={config['learner']}, which learns only from "
            "rollouts of its newest weights. Use acting=in_turn, and another runner than collectors."
        )
    _check_learner(config, traits)
    _check_critic(config, traits)
    _check_chunks(config)
    _check_runner(config, traits)
    check_streams(config, traits)
    _check_sizes(config, traits)


def _check_learner(config: dict, traits: dict) -> None:
    learner = config["learner"]
    output = config["agent_output_type"]
    wanted = traits["learner"].get("learns_from", output)
    if output != wanted:
        raise ConfigError(
            f"agent_output_type={output} does not go with learner={learner}, which learns from '{wanted}'."
        )
    takes = traits["action_selector"].get("takes", output)
    if output != takes and "action_selector" in (reads(config, "mac") or ()):
        fitting = _names("action_selector", "takes", (output,))
        raise ConfigError(
            f"action_selector={config['action_selector']} does not go with agent_output_type={output}. "
            f"These do: {fitting}."
        )
    greedy_by = traits["env"].get("greedy_by")
    if output != "q" and config["env_args"].get(greedy_by):
        raise ConfigError(
            f"env_args.{greedy_by}={config['env_args'][greedy_by]} does not go with agent_output_type={output}: only "
            "learners of values play some episodes of training greedily."
        )
    controllers, mac = traits["learner"].get("controllers"), chosen_entry(config, "mac")
    if controllers is not None and mac is not None and mac.declared and config["mac"] not in controllers:
        raise ConfigError(
            f"mac={config['mac']} does not go with learner={learner}, which takes mac={' or '.join(controllers)}."
        )
    _check_agent(config, traits)
    _check_controller(config, traits)
    mixes, accepted = traits["mixer"].get("mixes"), traits["learner"].get("mixes")
    if mixes is None or accepted is None or mixes in accepted:
        return
    fitting = _names("mixer", "mixes", accepted)
    choice = " or ".join(filter(None, ["null" if "nothing" in accepted else "", fitting]))
    raise ConfigError(
        f"mixer={_shown(config['mixer'])} does not go with learner={learner}. With this learner, use mixer={choice}."
    )


def _check_agent(config: dict, traits: dict) -> None:
    agent, learner = config["agent"], config["learner"]
    if "agent" not in (reads(config, "mac") or ()):
        return
    for own, other, wanted in (
        ("learner", "agent", traits["learner"].get("agents")),
        ("agent", "learner", traits["agent"].get("learners")),
    ):
        entry = chosen_entry(config, other)
        if wanted is not None and entry is not None and entry.declared and config[other] not in wanted:
            raise ConfigError(
                f"agent={agent} does not go with learner={learner}. With this {own}, use {other}={' or '.join(wanted)}."
            )


def _check_controller(config: dict, traits: dict) -> None:
    """Refuse an agent or a critic that another controller asks, or a controller without its agents."""
    mac = chosen_entry(config, "mac")
    if mac is None or not mac.declared:
        return
    read = {"agent": reads(config, "mac"), "critic": reads(config, "learner")}
    for key, keys in read.items():
        wanted = traits[key].get("controllers")
        if key in (keys or ()) and wanted is not None and config["mac"] not in wanted:
            raise ConfigError(
                f"{key}={config[key]} does not go with mac={config['mac']}. With this {key}, use "
                f"mac={' or '.join(wanted)}."
            )
    agents, agent = mac.traits.get("agents"), chosen_entry(config, "agent")
    if agents is not None and agent is not None and agent.declared and config["agent"] not in agents:
        raise ConfigError(
            f"agent={config['agent']} does not go with mac={config['mac']}. With this mac, use "
            f"agent={' or '.join(agents)}."
        )


def _check_critic(config: dict, traits: dict) -> None:
    if "critic" not in (reads(config, "learner") or ()):
        return
    wanted, offered = traits["learner"].get("values"), traits["critic"].get("values")
    if None not in (wanted, offered) and wanted != offered:
        raise ConfigError(
            f"critic={config['critic']} does not go with learner={config['learner']}, which learns from values of "
            f"{wanted}. These do: {_names('critic', 'values', (wanted,))}."
        )
    pace = config.get("target_update_interval_or_tau")
    if traits["critic"].get("of_mac") and pace is not None:
        raise ConfigError(
            f"target_update_interval_or_tau={pace} gives the critic a target network, which critic={config['critic']} "
            "cannot have, as it is a part of the policy. Use another critic, or null."
        )
    mac = chosen_entry(config, "mac")
    if traits["critic"].get("of_mac") and mac is not None and mac.declared and not mac.traits.get("values"):
        raise ConfigError(
            f"critic={config['critic']} needs a controller that has values itself, which mac={config['mac']} does not. "
            f"These do: {_names('mac', 'values', (True,))}."
        )


def _check_chunks(config: dict) -> None:
    if not _cuts_rollouts(config):
        return
    length, steps = config["chunk_length"], config["rollout_steps"]
    if length and steps % length:
        raise ConfigError(f"chunk_length={length} does not divide rollout_steps={steps} into equal parts.")
    burn_in, before = config.get("burn_in", 0), steps - length if length else 0
    if burn_in > before:
        raise ConfigError(
            f"burn_in={burn_in}: with rollout_steps={steps} and chunk_length={length}, a part has {before} steps "
            "before it at most."
        )


def _check_runner(config: dict, traits: dict) -> None:
    runner = traits["runner"]
    if chosen_name(config, "vector_env") == "native" and not has_batched_form(config["env"], config["env_args"]):
        these = " with these env_args" if config["env"] in batched_names() else ""
        raise ConfigError(
            "vector_env=native needs an environment that exists as one batch of many copies, which "
            f"env={config['env']}{these} does not. These do: {', '.join(batched_names())}. "
            "Use vector_env=workers or in_process for the others."
        )
    if chosen_name(config, "vector_env") == "native":
        _check_threads(config["env"], config["env_threads"])
    halves = "double_buffering" in (reads(config, "runner") or ()) and config["double_buffering"] == "on"
    if halves and (why := why_whole(config, source_of(config, runner.get("lives", "")))):
        raise ConfigError(
            f"double_buffering=on steps one half of the environments while the other half is decided for, which does "
            f"not work here, because {why}. Use double_buffering=off."
        )
    if runner.get("cuts_episodes") and traits["learner"].get("needs_episodes"):
        raise ConfigError(
            f"learner={config['learner']} learns from whole episodes, and runner={config['runner']} cuts them "
            "into pieces. Use runner=batched or runner=parallel."
        )


def _check_threads(env: str, threads: int) -> None:
    if threads > 1 and not takes_threads(env):
        raise ConfigError(
            f"env_threads={threads}: env={env} steps its copies in one thread. Use env_threads=1. These take threads: "
            f"{', '.join(names_with_threads())}."
        )


def _names(key: str, trait: str, wanted: tuple) -> str:
    registry = REGISTRIES[key]
    return ", ".join(name for name in registry if registry.entry(name).traits.get(trait) in wanted)


def _shown(value: str | None) -> str:
    return "null" if value is None else value


def _check_sizes(config: dict, traits: dict) -> None:
    environments = config["batch_size_run"]
    if not config["test_nepisode"] and (config["evaluate"] or config["save_replay"]):
        what = "evaluate=True plays a test" if config["evaluate"] else "save_replay=True records the last test"
        raise ConfigError(f"{what}, and test_nepisode=0 means that there are none. Use test_nepisode=1, or more.")
    if not config["evaluate"]:  # which has no buffer
        _check_buffer(config, traits)
    most = traits["runner"].get("max_environments")
    if most is not None and environments > most:
        raise ConfigError(
            f"runner={config['runner']} runs {most} environment, not batch_size_run={environments}. "
            "Use runner=parallel for more."
        )
    if config["test_batch_size"] not in (0, environments):
        if most is not None:
            raise ConfigError(f"test_batch_size: runner={config['runner']} runs {most} environment. Leave it at 0.")
        if why := why_as_many_tests(config, source_of(config, traits["runner"].get("lives", ""))):
            raise ConfigError(f"test_batch_size={config['test_batch_size']}: {why}. Leave it at 0.")


def _check_buffer(config: dict, traits: dict) -> None:
    stated, taken = config["buffer"], traits["learner"].get("buffers")
    if taken is not None and stated not in (AUTO, *taken):
        raise ConfigError(
            f"buffer={stated} does not go with learner={config['learner']}, which takes buffer={' or '.join(taken)}."
        )
    if config["samples_per_insert"] and config["updates_per_rollout"] != 1:
        raise ConfigError(
            f"samples_per_insert={config['samples_per_insert']} and "
            f"updates_per_rollout={config['updates_per_rollout']} both say how many updates follow a rollout. "
            "Leave one of them out."
        )
    buffer = chosen_name(config, "buffer")
    if config["replay_pace"] != "even" and not (config["samples_per_insert"] and buffer == "transitions"):
        raise ConfigError(
            f"replay_pace={config['replay_pace']} counts uses of transitions: it needs samples_per_insert and "
            f"buffer=transitions; here samples_per_insert={config['samples_per_insert']} and buffer={buffer}."
        )
    if isinstance(config["buffer_size"], list) and (buffer != "transitions" or config["buffer_size"][0] != "staircase"):
        raise ConfigError(
            f"buffer_size={config['buffer_size']}: only buffer=transitions changes its size, and by a staircase, as in "
            "[staircase, [0, 50000], [1000000, 100000]]: each change copies its content."
        )
    if traits["buffer"].get("gives") == "drawn" and not config["sample_transforms"]:
        _check_single_steps(config, buffer)
    if buffer == "episodes":
        _check_replay(config, traits)
    rows = {"episodes": "batch_size", "rollout": "batch_size_run"}.get(buffer)
    if rows and "minibatches" in (reads(config, "learner") or ()):
        _check_minibatches(config, rows)


def _check_minibatches(config: dict, rows: str) -> None:
    parts, of_parts = 1, ""
    if _cuts_rollouts(config) and (length := config["chunk_length"]):
        parts = config["rollout_steps"] // length
        of_parts = f", each cut into {parts} by chunk_length={length}"
    if config["minibatches"] > config[rows] * parts:
        raise ConfigError(
            f"minibatches={config['minibatches']} is more than there are rows in {rows}={config[rows]}{of_parts}."
        )


def _cuts_rollouts(config: dict) -> bool:
    """Whether the learner takes parts of rollouts of a fixed length."""
    return "chunk_length" in (reads(config, "learner") or ()) and "rollout_steps" in (reads(config, "runner") or ())


def _check_single_steps(config: dict, buffer: str) -> None:
    """Refuse inputs from earlier steps, which single transitions do not have."""
    agent = chosen_entry(config, "agent")
    if agent is not None and agent.traits.get("memory") and "agent" in (reads(config, "mac") or ()):
        raise ConfigError(
            f"agent={config['agent']} has a memory, and buffer={buffer} gives single steps. Use agent=ff, or "
            "sample_transforms that begin with window."
        )
    if config["obs_last_action"] and "obs_last_action" in (reads(config, "mac") or ()):
        raise ConfigError(f"obs_last_action=True: buffer={buffer} gives single steps. Use obs_last_action=False.")


def _check_replay(config: dict, traits: dict) -> None:
    batch, buffer, environments = config["batch_size"], config["buffer_size"], config["batch_size_run"]
    if batch > buffer:
        raise ConfigError(
            f"batch_size={batch} is larger than buffer_size={buffer}: the buffer would never hold a whole sample."
        )
    if environments > buffer:
        raise ConfigError(
            f"batch_size_run={environments} is larger than buffer_size={buffer}: the buffer would not hold one rollout."
        )
    if traits["learner"].get("on_policy") and buffer > batch:
        raise ConfigError(
            f"learner={config['learner']} learns only from rollouts of its newest weights; with "
            f"buffer_size={buffer} above batch_size={batch}, most of a sample would be older. Set buffer_size={batch}."
        )
