"""Short runs of any algorithm on any environment, and what their updates did."""

from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace

import torch as th

from checks import check_config
from checks.options import completed
from checks.parts import ChosenParts
from checks.registries import REGISTRIES
from cli.compose import compose_config
from cli.statistics import is_described
from components.sampling import REGISTRY as transforms
from components.sampling.listed import listed_names
from covering import covering
from envs import REGISTRY as environments
from envs.contract.declarations import spec_of
from experiment.assembly import assemble
from fakes import RecordingLogger
from learners import REGISTRY as learners
from modules.agents import REGISTRY as agents
from records.logger import Logger
from run import run
from utils.config.merging import config_names, recursive_dict_update
from watched_training import watch_updates

# episodes of a few steps, or of few agents, where an environment has an argument for that
TIMED = ("lbf", "mpe", "rware", "overcooked", "pressureplate", "capturetarget", "boxpushing", "gymnasium", "racing")
SHORT = {name: {"time_limit": 5} for name in TIMED}
SHORT["entities"] = {"episode_limit": 5}
SHORT["stag_hunt"] = {"episode_limit": 5, "n_agents": 4, "n_stags": 4}
SHORT |= {
    f"skirmish_v2_{race}": {"capability_config": {"n_units": 2, "n_enemies": 2}}
    for race in ("protoss", "terran", "zerg")
}
SETTINGS = {
    "batch_size": 2,
    "buffer_size": 4,
    "batch_size_run": 1,
    "test_nepisode": 1,
    "learner_log_interval": 1,
    "rnn_hidden_dim": 8,
    "mixing_embed_dim": 8,
    "hypernet_embed": 8,
    "eoi_leaves_out": False,
    "seed": 1,
}
UPDATES = 3
# how it is played, by an algorithm of which kind
SCHEDULES = {
    "episodes": ("vdn", {}),
    "episodes_continuous": ("vdn", {}),
    "rollout": ("pqn_vdn", {"rollout_steps": 4, "epochs": 1}),
}
# where environments live; one process for all of them, as starting processes is what takes long
SOURCES = {
    "batched": {"vector_env": "batched"},
    "in_process": {"vector_env": "in_process"},
    "pipe": {"vector_env": "workers", "env_transport": "pipe", "envs_per_worker": 2},
    "shared_memory": {"vector_env": "workers", "env_transport": "shared_memory", "envs_per_worker": 2},
}


def small_config(tmp_path, algorithm="vdn", environment="two_step", **changes):
    """The config of a small run whose results are in a folder of the test's."""
    small = {"buffer_size": 32, "batch_size": 4, "seed": 3, "local_results_path": str(tmp_path)}
    return recursive_dict_update(compose_config(algorithm, environment).config, {**small, **changes})


@cache
def preset_on_lbf(algorithm):
    """The config of an algorithm, composed once to look at: not to be changed."""
    return compose_config(algorithm, "lbf").config


def own_agents(learner):
    """The only agents of a learner whose controllers take no others."""
    controllers = REGISTRIES["learner"].entry(learner).traits.get("controllers", ())
    taken = [REGISTRIES["mac"].entry(name).traits.get("agents", ()) for name in controllers]
    return [agent for agents in taken for agent in agents] if all(taken) else []


@cache
def preset_of(learner):
    """The plainest preset of a learner: the shortest name, if possible of those whose controller takes any agent."""
    presets = [name for name in sorted(config_names("algs"), key=len) if preset_on_lbf(name)["learner"] == learner]
    agents = REGISTRIES["agent"]
    free = (name for name in presets if not agents.entry(preset_on_lbf(name)["agent"]).traits.get("controllers"))
    return next(free, presets[0])


def choice_of_parts(algorithm, *keys):
    """The parts that a preset is of, its runner apart, and its values of some keys.

    Mixers get of all networks the same, and those that see entities are not tried with each.
    """
    config = preset_on_lbf(algorithm)
    left_out = ("env", "runner", "mixer") if needs_meaning(algorithm) else ("env", "runner")
    return tuple(config.get(key) for key in (*REGISTRIES, *keys) if key not in left_out)


def one_of_each_choice(*keys):
    """The plainest preset of each choice of parts; the others differ from one of them in numbers."""
    found = {}
    for name in sorted(config_names("algs"), key=len):
        found.setdefault(choice_of_parts(name, *keys), name)
    return sorted(found.values())


def one_of_each_part(*keys):
    """A few presets with every part that any has, and each learner with its controllers, buffers and critics."""

    def parts(name):
        config = preset_on_lbf(name)
        found = {(key, config.get(key)) for key in (*REGISTRIES, *keys) if key not in ("env", "runner")}
        return found | {(config["learner"], key, config.get(key)) for key in ("mac", "buffer", "critic")}

    return sorted(covering(sorted(config_names("algs"), key=len), parts))


def suited(config, settings):
    """`config` with small `settings`, for learners from transitions: sizes in steps, and few updates.

    Those whose policies are deterministic get an environment with continuous actions.
    """
    recursive_dict_update(config, settings)
    if ChosenParts(config).name("buffer") == "on_off":
        size = config["batch_size"]
        config["off_batch_size"], config["recent_size"] = size, size if config.get("recent_size") else 0
    if ChosenParts(config).name("buffer") == "transitions":
        config["buffer_size"] = 1000 * config["batch_size_run"]
        config["samples_per_insert"] = min(config["samples_per_insert"], 0.3 * config["batch_size"])
        config["buffer_min"] = config["hold_out"] = 0
        config["random_steps"] = min(config.get("random_steps", 0), 2)
    return config


def shorter(config):
    """Fewer epochs, and shorter pieces of episodes, than a preset has: more of them show nothing more."""
    return {key: most for key, most in (("epochs", 2), ("rollout_steps", 20)) if config.get(key, 0) > most}


@contextmanager
def assembled(config, seed=4):
    """The parts of a run, closed at the end."""
    config = check_config(config)
    th.manual_seed(seed)
    config["env_args"]["seed"] = config["seed"] = seed
    parts = assemble(SimpleNamespace(**config, device="cpu", unique_token="token"), RecordingLogger())
    try:
        yield parts
    finally:
        parts.collection.close()
        parts.runner.close_env()


def needs_continuous_actions(algorithm):
    """Whether a preset's noise, or its policy's gradient, is of continuous actions only."""
    config = preset_on_lbf(algorithm)
    return config.get("noise") in ("gaussian", "ou") or config.get("policy_gradient") == "score"


def sees_entities(algorithm):
    """Whether a preset's network takes entities, and nothing else."""
    return preset_on_lbf(algorithm)["mac"] == "entity_mac"


def needs_meaning(algorithm):
    """Whether a preset's network, or a transform, needs to know what the environment's numbers mean; `lbf` says it."""
    preset = preset_on_lbf(algorithm)
    parts = agents.entry(preset["agent"]), *map(transforms.entry, listed_names(preset["sample_transforms"]))
    return any(part.traits.get("needs_meaning") for part in parts)


@cache
def declares_meaning(environment):
    """Whether configs/envs/<environment>.yaml makes one that says it."""
    return _spec(environment).env_info.get("meaning") is not None


def mixes_entities(algorithm):
    """Whether a preset's mixer or critic needs to know the entities of the state; `lbf` says it."""
    parts = ChosenParts(preset_on_lbf(algorithm))
    return any(parts.is_used(kind) and parts.traits(kind).get("needs_state_entities") for kind in ("mixer", "critic"))


def declares_state(environment):
    """Whether configs/envs/<environment>.yaml makes one that says it."""
    return bool(getattr(_spec(environment).env_info.get("meaning"), "state", ()))


@cache
def episode_limit(environment):
    """The most steps of an episode of configs/envs/<environment>.yaml, made short."""
    return _spec(environment).episode_limit


def _spec(environment):
    config = compose_config("vdn", environment).config
    recursive_dict_update(config["env_args"], {**SHORT.get(environment, {}), "seed": 1})
    env = environments[config["env"]](**config["env_args"])
    try:
        return spec_of(env)
    finally:
        env.close()


def train(tmp_path, monkeypatch, algorithm, environment, **changes):
    """Play until there were three updates at least, for any lengths of episodes; returns the updates."""
    config = compose_config(algorithm, environment).config
    small = {**SETTINGS, **shorter(config)}
    changes = {"env_args": SHORT.get(environment, {}), "local_results_path": str(tmp_path), **small, **changes}
    suited(config, changes)
    if learners.entry(config["learner"]).traits.get("on_policy"):
        config["minibatches"] = 1
        config["batch_size"] = config["buffer_size"] = config["batch_size_run"]
    # a rollout of `batch_size_run` episodes or pieces: one fills the batch, and each of the others brings an update
    delayed = completed(config).get("policy_delay", 1)
    rollouts = -(-config["batch_size"] // config["batch_size_run"]) - 1 + UPDATES * delayed
    limit = config["env_args"].get("time_limit") or episode_limit(environment)
    longest = completed(config)["rollout_steps"] if config["runner"] == "rollout" else limit
    # the rollout that starts at t_max is still played
    config["t_max"] = (rollouts - 1) * config["batch_size_run"] * longest
    if ChosenParts(config).name("buffer") == "transitions":
        config["samples_per_insert"] = config["batch_size"] * min(1, 4 * UPDATES * delayed / config["t_max"])
    updates, logged = watch_updates(monkeypatch, config["learner"]), logged_statistics(monkeypatch)
    assert run(config) is not None
    undescribed = [key for key in logged if not is_described(key, config["learner"], config["env"])]
    assert not undescribed, undescribed
    return updates


def logged_statistics(monkeypatch):
    """The names of all statistics that runs log from now on, which docs/reference.md explains."""
    names, log_stat = set(), Logger.log_stat

    def noting(self, key, *arguments):
        names.add(key)
        log_stat(self, key, *arguments)

    monkeypatch.setattr(Logger, "log_stat", noting)
    return names
