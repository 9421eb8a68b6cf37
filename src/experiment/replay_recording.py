"""`save_replay=True`: recording the last test of a run (docs/replays.md)."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch as th

from learners import REGISTRY as le_REGISTRY
from modules.mixers import REGISTRY as mixer_REGISTRY
from records.layout import REPLAYS
from records.logger import Logger
from records.tokens import map_of
from replays.recorder import Recorder
from runners.contract import Runner

OUTPUTS = {"q": "q_values", "pi_logits": "policy"}
ALGORITHM = ("name", "learner", "mixer", "mac", "agent")
# where a replay goes is nothing that an episode depends on
NOT_IN_HEADERS = ("replay_dir", "replay_prefix")
NOT_PLAYED = "no test was played at the end (python src/watch.py RUN records an episode)"


def attach_recorder(args: SimpleNamespace, runner: Runner, mixer: Any, logger: Logger) -> None:
    """Let the runner record the first `replay_episodes` episodes of its last test, if `save_replay` is on.

    `mixer`: of the learner, for the team's value, or None.
    """
    if not args.save_replay:
        return
    runner.recorder = Recorder(
        folder=Path(args.local_results_path, REPLAYS, args.unique_token),
        header=_header(args),
        # training ends when t_env is above t_max; a test after that is the last one
        due=lambda t_env: args.evaluate or t_env > args.t_max,
        episodes=args.replay_episodes,
        outputs=OUTPUTS[args.agent_output_type],
        team_value=team_value(args, mixer),
        warn=logger.console_logger.warning,
    )


def pair_recorder(
    args: SimpleNamespace, folder: Path, names: str, episodes: int, warn: Callable[[str], None]
) -> Recorder:
    """Records the first episodes that models of several runs play together.

    Args:
        args: of the run whose environments they play in.
        names: of the models, as the replays' algorithm.
    """
    header = {**_header(args), "algorithm": {"name": names}, "token": folder.name, "checkpoint_path": None}
    return Recorder(folder, header, lambda t_env: True, episodes, OUTPUTS["q"], None, warn)


def save_replay(args: SimpleNamespace, runner: Runner, logger: Logger) -> None:
    """Record where the replays are; without any, let the environment save its own, or log why there is none."""
    if not args.save_replay:
        return
    recorder = runner.recorder
    if recorder is not None and recorder.paths:
        if logger.use_sacred:
            logger.sacred_info["replays"] = [str(path) for path in recorder.paths]
        return
    try:
        runner.save_replay()
    except NotImplementedError as error:
        if recorder is not None and not recorder.refusal:
            logger.console_logger.warning(f"No replay was saved: {NOT_PLAYED}.")
            return
        reasons = dict.fromkeys([recorder.refusal if recorder is not None else "", str(error)])
        logger.console_logger.warning(f"No replay was saved: {', and '.join(filter(None, reasons))}.")


def team_value(args: SimpleNamespace, mixer: Any) -> Callable[[th.Tensor, th.Tensor, th.Tensor], float] | None:
    """Q_tot of one moment from outputs `[n, A]`, actions `[n]` and state; None if `mixer` mixes no chosen values."""
    if mixer is None or not mixes_chosen_values(args):
        return None

    def q_tot(outputs: th.Tensor, actions: th.Tensor, state: th.Tensor) -> float:
        chosen = outputs.gather(1, actions.to(outputs.device).unsqueeze(1)).reshape(1, 1, -1)
        with th.no_grad():
            return mixer(chosen.to(args.device), state.to(args.device).reshape(1, 1, *state.shape)).item()

    return q_tot


def mixes_chosen_values(args: SimpleNamespace) -> bool:
    """Whether the learner has the mixer mix the agent's outputs, values; not known of one that only it knows."""
    if args.mixer not in mixer_REGISTRY:
        return False
    traits = le_REGISTRY.entry(args.learner).traits
    of_agent = traits.get("learns_from", "q") == "q"  # and not of critics
    mixes = mixer_REGISTRY.entry(args.mixer).traits.get("mixes", "chosen_values")
    return of_agent and "chosen_values" in traits.get("mixes", ()) and mixes == "chosen_values"


def _header(args: SimpleNamespace) -> dict[str, Any]:
    env_args = {key: value for key, value in args.env_args.items() if key not in NOT_IN_HEADERS}
    return {
        "env": args.env,
        "env_args": env_args,
        "map": map_of(args.env, env_args),
        "seed": args.seed,
        "n_agents": args.n_agents,
        "n_actions": args.n_actions,
        "episode_limit": args.episode_limit,
        "algorithm": {key: vars(args)[key] for key in ALGORITHM},
        "runner": args.runner,
        "token": args.unique_token,
        "checkpoint_path": args.checkpoint_path or None,
    }
