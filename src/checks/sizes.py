"""Do the numbers of a config fit its parts: environments, tests, buffer, samples and parts of rollouts?"""

from checks.parts import ChosenParts
from runners.sources import why_as_many_tests
from utils.errors import ConfigError


def check_sizes(parts: ChosenParts) -> None:
    """Refuse sizes that do not fit the parts, or each other.

    Raises:
        ConfigError: names the key and a remedy.
    """
    config = parts.config
    _check_chunks(parts)
    if not config["test_nepisode"] and (config["evaluate"] or config["save_replay"]):
        what = "evaluate=True plays a test" if config["evaluate"] else "save_replay=True records the last test"
        raise ConfigError(f"{what}, and test_nepisode=0 means that there are none. Use test_nepisode=1, or more.")
    if not config["evaluate"]:  # which has no buffer
        _check_updates(parts)
        _check_buffer(parts)
    runner, environments = parts.name("runner"), config["batch_size_run"]
    most = parts.traits("runner").get("max_environments")
    if most is not None and environments > most:
        for_more = "episodes" if config["vector_env"] == "batched" else "parallel"
        raise ConfigError(
            f"runner={runner} runs {most} environment, not batch_size_run={environments}. Use runner={for_more}."
        )
    if config["test_batch_size"] not in (0, environments):
        if most is not None:
            raise ConfigError(f"test_batch_size: runner={runner} runs {most} environment. Leave it at 0.")
        if why := why_as_many_tests(config, parts.name("vector_env")):
            raise ConfigError(f"test_batch_size={config['test_batch_size']}: {why}. Leave it at 0.")


def _cuts_rollouts(parts: ChosenParts) -> bool:
    """Whether the learner takes parts of rollouts of a fixed length."""
    return "chunk_length" in (parts.reads("learner") or ()) and "rollout_steps" in (parts.reads("runner") or ())


def _check_chunks(parts: ChosenParts) -> None:
    if not _cuts_rollouts(parts):
        return
    config = parts.config
    length, steps = config["chunk_length"], config["rollout_steps"]
    if length and steps % length:
        raise ConfigError(f"chunk_length={length} does not divide rollout_steps={steps} into equal parts.")
    burn_in, before = config.get("burn_in", 0), steps - length if length else 0
    if burn_in > before:
        raise ConfigError(
            f"burn_in={burn_in}: with rollout_steps={steps} and chunk_length={length}, a part has {before} steps "
            "before it at most."
        )


def _check_updates(parts: ChosenParts) -> None:
    """Refuse two plans of updates, and one that counts what the buffer does not have."""
    config = parts.config
    if config["samples_per_insert"] and config["updates_per_rollout"] != 1:
        raise ConfigError(
            f"samples_per_insert={config['samples_per_insert']} and "
            f"updates_per_rollout={config['updates_per_rollout']} both say how many updates follow a rollout. "
            "Leave one of them out."
        )
    drawn = parts.traits("buffer").get("gives") == "drawn"
    if config["replay_pace"] != "even" and not (config["samples_per_insert"] and drawn):
        raise ConfigError(
            f"replay_pace={config['replay_pace']} counts uses of transitions: it needs samples_per_insert and "
            f"buffer=transitions; here samples_per_insert={config['samples_per_insert']} and "
            f"buffer={parts.name('buffer')}."
        )


def _check_buffer(parts: ChosenParts) -> None:
    config, traits = parts.config, parts.traits("buffer")
    size, drawn = config["buffer_size"], traits.get("gives") == "drawn"
    if isinstance(size, list) and not (drawn and size[0] == "staircase"):
        raise ConfigError(
            f"buffer_size={size}: only buffer=transitions changes its size, and by a staircase, as in "
            "[staircase, [0, 50000], [1000000, 100000]]: each change copies its content."
        )
    if drawn and not config["sample_transforms"]:
        _check_single_steps(parts)
    rows = traits.get("rows")
    if rows == "batch_size":
        _check_replay(parts)
    if rows and "minibatches" in (parts.reads("learner") or ()):
        _check_minibatches(parts, rows)


def _check_single_steps(parts: ChosenParts) -> None:
    """Refuse inputs from earlier steps, which single transitions do not have."""
    buffer = parts.name("buffer")
    if parts.is_used("agent") and parts.traits("agent").get("memory"):
        raise ConfigError(
            f"agent={parts.name('agent')} has a memory, and buffer={buffer} gives single steps. Use agent=ff, or "
            "sample_transforms that begin with window."
        )
    for key in ("obs_last_action", "obs_mean_action"):
        if parts.config.get(key) and key in (parts.reads("mac") or ()):
            raise ConfigError(f"{key}=True: buffer={buffer} gives single steps. Use {key}=False.")


def _check_replay(parts: ChosenParts) -> None:
    batch, size, environments = (parts.config[key] for key in ("batch_size", "buffer_size", "batch_size_run"))
    if batch > size:
        raise ConfigError(
            f"batch_size={batch} is larger than buffer_size={size}: the buffer would never hold a whole sample."
        )
    if environments > size:
        raise ConfigError(
            f"batch_size_run={environments} is larger than buffer_size={size}: the buffer would not hold one rollout."
        )
    for key in ("off_batch_size", "recent_size"):
        if parts.name("buffer") == "on_off" and parts.config[key] > size:
            raise ConfigError(
                f"{key}={parts.config[key]} is larger than buffer_size={size}: the buffer would never hold so many."
            )
    if parts.traits("learner").get("on_policy") and size > batch:
        raise ConfigError(
            f"learner={parts.name('learner')} learns only from rollouts of its newest weights; with "
            f"buffer_size={size} above batch_size={batch}, most of a sample would be older. Set buffer_size={batch}."
        )


def _check_minibatches(parts: ChosenParts, rows: str) -> None:
    config, count, of_parts = parts.config, 1, ""
    if _cuts_rollouts(parts) and (length := config["chunk_length"]):
        count = config["rollout_steps"] // length
        of_parts = f", each cut into {count} by chunk_length={length}"
    if config["minibatches"] > config[rows] * count:
        raise ConfigError(
            f"minibatches={config['minibatches']} is more than there are rows in {rows}={config[rows]}{of_parts}."
        )
