"""`--export=RUN`: a trained policy as an ONNX file for Unity (docs/dots.md)."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

from checkpoints.model_files import model_to_play
from checks import check_config
from checks.teams import of_team
from cli.arguments import Arguments, given_text
from cli.compose import Composed, taken
from cli.experiment import config_to_play
from controllers.policy_step import PolicyStep
from experiment.loaded_run import loaded_run
from experiment.onnx_export import SECOND, VERSIONS, require_onnx, write_models
from records.console_log import get_logger
from records.find_run import find_run
from records.layout import MODELS
from records.logger import Logger
from utils.config.merging import default_config, recursive_dict_update
from utils.errors import ConfigError
from utils.numbers.random_streams import seed_everything
from utils.plain_values import quoted
from utils.tensors.devices import CPU, ON_CPU

ENDING = ".onnx"
# nothing is played and nothing else is written: one environment is asked for its fields
ASKED = {"batch_size_run": 1, **ON_CPU}


def export(arguments: Arguments, name: str) -> None:
    """Write the policy of a model of the run with this name, and say what is in the file.

    Raises:
        MusterError: there is no such run, its policy cannot be exported, or the file cannot be written.
    """
    for option, given in (("--dry-run", arguments.dry_run), ("--validate", arguments.validate)):
        if given:
            raise ConfigError(f"{option} is of new runs; --export starts none.")
    require_onnx()
    version, target = _version(arguments), _target(arguments)
    args, model, step = _chosen(arguments, name)
    steps = _policies(args, model, step, arguments.greedy)
    if target is None:
        target = Path(args.local_results_path, MODELS, args.unique_token, f"policy-{step}{ENDING}")
        target.parent.mkdir(parents=True, exist_ok=True)
    for path, policy in zip(write_models(steps, target, version), steps.values(), strict=True):
        print(f"{path}: the policy after {step} steps, version {version} of ML-Agents' models")
        for line in _contents(policy, version):
            print(f"  {line}")


def _chosen(arguments: Arguments, name: str) -> tuple[SimpleNamespace, Path, int]:
    """The arguments of the parts, and the model with its step; the console says why this one."""
    if arguments.panel:
        raise ConfigError("cpanel: --export writes a trained policy, so the control panel changes nothing.")
    results = given_text(arguments, "local_results_path") or default_config()["local_results_path"]
    config, reason = config_to_play(arguments, name, results)
    composed = Composed(config)
    config, settings = taken(composed, arguments.settings, new=False, texts=arguments.texts)
    config = check_config(recursive_dict_update(recursive_dict_update(config, settings), ASKED))
    seed = config["seed"] = config.get("seed") or 0
    seed_everything(seed)
    config["env_args"]["seed"] = seed
    folder, step, why = model_to_play(config["checkpoint_path"], config["load_step"])
    if reason or why:
        get_logger().info(reason or why)
    token = find_run(name, results).token
    return SimpleNamespace(**config, device=CPU, unique_token=token), folder, step


def _policies(args: SimpleNamespace, model: Path, step: int, greedy: bool) -> dict[str, PolicyStep]:
    """Of each team, "" of an only one."""
    with loaded_run(args, Logger(get_logger()), model, step) as run:
        policies = {}
        for team in run.teams:
            with of_team(team.name):
                policies[team.name] = PolicyStep(team.mac, team.spec.fields, greedy)
        return policies


def _version(arguments: Arguments) -> int:
    given = arguments.model_version
    if given not in (None, *map(str, VERSIONS)):
        raise ConfigError(f"--model-version={quoted(given)}: it must be {' or '.join(map(str, VERSIONS))}.")
    return SECOND if given is None else int(given)


def _target(arguments: Arguments) -> Path | None:
    if arguments.to is None:
        return None
    path = Path(arguments.to).expanduser()
    if path.suffix != ENDING:
        raise ConfigError(f"--to={quoted(arguments.to, 300)}: the name of the file must end in {ENDING}.")
    if path.is_dir() or not path.parent.is_dir():
        what = "it is a folder" if path.is_dir() else f"there is no folder {quoted(str(path.parent), 300)}"
        raise ConfigError(f"--to={quoted(arguments.to, 300)}: {what}.")
    return path


def _contents(policy: PolicyStep, version: int) -> Iterator[str]:
    for i, (field, shape) in enumerate(policy.shapes.items()):
        name = f"obs_{i}" if version == SECOND else "vector_observation"
        yield f"{name}: {field}, {' x '.join(map(str, shape))} numbers"
    if policy.sees_id:
        yield f"obs_{len(policy.shapes)}: the agent's number among {policy.n_agents}, one-hot, which Unity has to add"
    if policy.branches:
        drawn = "greedy" if policy.greedy else "drawn"
        yield f"actions: {drawn}, of {' x '.join(map(str, policy.branches))} choices"
    if policy.numbers:
        drawn = "greedy" if policy.greedy else "drawn"
        yield f"actions: {drawn}, {policy.numbers} continuous"
    if policy.memory:
        yield f"memory: {policy.memory} numbers, which ML-Agents DOTS does not keep and ML-Agents does"
