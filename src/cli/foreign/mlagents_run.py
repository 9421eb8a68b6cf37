"""What ML-Agents' trainer files say of the run as a whole: simulators, engine, parameters, results and device."""

from collections.abc import Mapping
from typing import Any

from cli.foreign.mlagents_sections import TABLE, Section
from utils.errors import ConfigError
from utils.plain_values import quoted
from utils.tensors.devices import CPU, CUDA, is_name_of_device, named

SECTIONS = [
    "behaviors",
    "default_settings",
    "env_settings",
    "engine_settings",
    "environment_parameters",
    "checkpoint_settings",
    "torch_settings",
]
# the values that trainer sends unless told otherwise
ENGINE = {
    "width": 84,
    "height": 84,
    "quality_level": 5,
    "time_scale": 20,
    "target_frame_rate": -1,
    "capture_frame_rate": 60,
}


def of_whole_run(file: Section) -> dict:
    """The config of the keys outside of behaviours, `behaviors` and `default_settings` being taken already.

    Raises:
        ConfigError: a key has no counterpart, or an invalid value.
    """
    env, engine = file.section("env_settings"), file.section("engine_settings")
    env_args: dict[str, Any] = {}
    for key, ours in (("env_path", "executable"), ("env_args", "args")):
        if (value := env.take(key)) is not None:
            env_args[ours] = value
    found: dict[str, Any] = {"env": "dots", "env_args": env_args}
    if not isinstance(env_args.get("args", []), list):
        raise ConfigError(
            f"{file.file}: env_settings.env_args is {quoted(env_args['args'])}; it must be a list of words."
        )
    found["batch_size_run"] = env.number("num_envs", 1, whole=True, least=1)
    if (seed := env.number("seed", -1, whole=True)) >= 0:
        found["seed"] = seed
    if (wait := env.number("timeout_wait", 60)) != 60:
        env_args |= {"timeout": wait, "launch_timeout": wait}
    if (restarts := env.number("max_lifetime_restarts", 10, whole=True)) != 10:
        found["max_worker_restarts"] = restarts
    env.end()
    env_args["engine"] = {
        key: engine.number(key, default, whole=key != "time_scale") for key, default in ENGINE.items()
    }
    if engine.choice("no_graphics", False, (True, False)):
        env_args["args"] = [*env_args.get("args", []), "-nographics", "-batchmode"]
    engine.end()
    env_args["parameters"] = _parameters(file.section("environment_parameters"))
    kept = file.section("checkpoint_settings")
    for key, ours in (("run_id", "run_name"), ("results_dir", "local_results_path")):
        if key in kept.values:
            found[ours] = kept.take(key)
    kept.taken = ["run_id", "results_dir", *kept.taken]
    kept.end()
    torch = file.section("torch_settings")
    device = torch.take("device", None)
    if device is not None and not (isinstance(device, str) and is_name_of_device(device)):
        raise ConfigError(
            f"{torch.file}: {torch.name('device')} is {quoted(device)}; it must be cpu, cuda, cuda:N or mps."
        )
    torch.end()
    file.taken = SECTIONS
    file.end()
    if device is None:
        return found
    # the usual ones take a card where there is one
    other = {} if named(device) in (CPU, CUDA) else {"learner_device": device}
    return {**found, "use_cuda": device != CPU, **other}


def _parameters(section: Section) -> dict[str, float]:
    found = {}
    for key in list(section.values):
        value = section.values[key]
        if isinstance(value, Mapping) and value.get("sampler_type") == "constant":
            sampler = Section(section.file, section.name(key), "sampler", dict(value))
            section.values[key] = sampler.section("sampler_parameters").take("value")
        elif isinstance(value, Mapping):
            what = "a curriculum" if "curriculum" in value else "a sampler"
            raise ConfigError(
                f"{section.file}: {section.name(key)} is {what}, which has no counterpart; it must be a number. {TABLE}"
            )
        found[key] = section.number(key, 0.0)
    return found
