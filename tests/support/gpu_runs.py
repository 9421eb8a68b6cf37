"""Runs on the pretend GPU, in a process of their own: torch cannot go back to having none."""

import multiprocessing.process
import os
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch as th

from checkpoints.resumption import Resumption
from cli.compose import compose_config
from experiment.loop import TrainingLoop
from forked import CONTEXT, start_forked
from learners import REGISTRY as learners
from run import run
from small_training import SETTINGS, SHORT, needs_continuous_actions, preset_on_lbf, sees_entities, suited


def config_of(algorithm: str, environment: str = "", **changes: Any) -> dict[str, Any]:
    """A short run of a preset, on the smallest environment that suits it if none is named."""
    if environment:
        env_args = SHORT.get(environment, {})
    elif sees_entities(algorithm):
        environment, env_args = "entities", SHORT["entities"]
    elif needs_continuous_actions(algorithm):
        environment, env_args = "gymnasium", {"key": "Pendulum-v1", "time_limit": 5}
    else:
        environment = "racing" if preset_on_lbf(algorithm)["learner"] == "iqn_learner" else "lbf"
        env_args = SHORT[environment]
    config = compose_config(algorithm, environment).config
    in_process = {"runner": "episode"} if config["runner"] == "parallel" else {}
    if config["runner"] == "collectors":  # each would need a GPU, and which comes first is chance
        in_process["runner"] = config["collectors"]["runner"]
    lengths = {"t_max": 30, "test_interval": 15, "log_interval": 15, "runner_log_interval": 5}
    config = suited(config, {**SETTINGS, **lengths, **in_process, "env_args": env_args, **changes})
    if learners.entry(config["learner"]).traits.get("on_policy"):
        config["minibatches"], config["batch_size"], config["buffer_size"] = 1, *[config["batch_size_run"]] * 2
    return config


def on_card(config: dict[str, Any]) -> dict[str, Any]:
    """The config of a run that acts on the card, too: `auto` would choose the CPU for runs as small as these."""
    return {**config, "acting_device": "cuda"}


def trained(config: dict[str, Any], on: str, log: Any = None) -> dict[str, list[float]]:
    """The statistics of a run `on` "cpu" or "gpu"."""
    sacred_run = SimpleNamespace(info={}, _id=None, log_scalar=lambda *_: None)
    with tempfile.TemporaryDirectory() as folder:
        run({**config, "local_results_path": folder, "use_cuda": on == "gpu"}, sacred_run, log)
    return {key: values for key, values in sacred_run.info.items() if isinstance(values, list)}


def trained_with_children(config: dict[str, Any], on: str) -> dict[str, list[float]]:
    """As `trained`; the processes that it starts pretend, too."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        Path(folder, "sitecustomize.py").write_text("import pretend_gpu\n\npretend_gpu.install()\n")
        patch.setenv("PYTHONPATH", os.pathsep.join([folder, str(Path(__file__).parent)]))
        return trained(config, on)


@cache
def _server():
    ours, theirs = CONTEXT.Pipe()
    process = start_forked(_serve, theirs)
    theirs.close()
    # it stays for the tests that follow, some of which look whether processes are left over
    multiprocessing.process._children.discard(process)
    return ours


def on_gpu(function, *arguments: Any) -> Any:
    """What the function returns in the process with the pretend GPU.

    Raises:
        AssertionError: it raised something, whose traceback is the message.
    """
    server = _server()
    server.send((function, arguments))
    answer, fault = server.recv()
    assert not fault, fault
    return answer


def _serve(pipe) -> None:
    import pretend_gpu

    pretend_gpu.install()
    th.set_num_threads(1)
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            os._exit(0)
        try:
            pretend_gpu.counts.clear()
            answer = function(*arguments), ""
        except BaseException:
            answer = None, traceback.format_exc()
        pipe.send(answer)


def waits_so_far() -> int:
    """How often this process would have waited for a GPU; 0 where none is pretended."""
    pretend = sys.modules.get("pretend_gpu")
    return 0 if pretend is None else pretend.counts.waits()


def resumed(config: dict[str, Any], on: str, changes: dict[str, Any] | None = None) -> dict[str, list[float]]:
    """The statistics of a run that stops after the first half, and is resumed for the rest, with these changes."""
    sacred_run = SimpleNamespace(info={}, _id=1, log_scalar=lambda *_: None)
    with tempfile.TemporaryDirectory() as folder:
        whole = {**config, "local_results_path": folder, "use_cuda": on == "gpu", "run_name": "it"}
        run({**whole, "t_max": config["t_max"] // 2}, sacred_run)
        resume = Resumption.of("it", folder)
        again = {**resume.config_of(resume.recorded), "t_max": config["t_max"], **(changes or {})}
        run(again, sacred_run, resume=resume)
    return {key: values for key, values in sacred_run.info.items() if isinstance(values, list)}


def modelled(config: dict[str, Any], on: str, folder: str) -> str:
    """Train `on` "cpu" or "gpu"; the folder of the models."""
    run({**config, "local_results_path": folder, "use_cuda": on == "gpu", "run_name": "it", "save_model": True})
    return os.path.join(folder, "models", "it")


def evaluated(config: dict[str, Any], models: str, on: str, folder: str) -> tuple[float, int]:
    """The mean return of test episodes of a saved model, and the number of replays that were recorded."""
    play = {"checkpoint_path": models, "evaluate": True, "save_replay": True, "test_nepisode": 3}
    mean = run({**config, **play, "local_results_path": folder, "use_cuda": on == "gpu"})
    return mean, len(list(Path(folder, "replays").rglob("*.jsonl")))


def waits_and_sends(config: dict[str, Any]) -> tuple[int, int, float]:
    """Of a run on the pretend GPU: waits and sends of 40 more steps, and waits of an update after the first ones."""
    import pretend_gpu

    never = dict.fromkeys(("test_interval", "log_interval", "learner_log_interval", "runner_log_interval"), 10**9)
    update, of_updates, found = TrainingLoop._update, [], []

    def counted(loop, *arguments):
        before = pretend_gpu.counts.waits()
        update(loop, *arguments)
        of_updates.append(pretend_gpu.counts.waits() - before)

    TrainingLoop._update = counted
    try:
        for t_max in (40, 80):
            pretend_gpu.counts.clear()
            of_updates.clear()
            trained({**config, **never, "t_max": t_max, "test_nepisode": 0}, "gpu")
            found.append((pretend_gpu.counts.waits(), pretend_gpu.counts.sends()))
    finally:
        TrainingLoop._update = update
    later = of_updates[len(of_updates) // 2 :]
    (waits, sends), (more_waits, more_sends) = found
    return more_waits - waits, more_sends - sends, sum(later) / len(later)


def of_playing(config: dict[str, Any]) -> tuple[int, int, int, int]:
    """Of the runner's calls of training after the first: these, their decisions, waits and sends."""
    import pretend_gpu
    from controllers.decisions import Decider
    from runners.playing import EpisodesRunner

    never = dict.fromkeys(("test_interval", "log_interval", "learner_log_interval", "runner_log_interval"), 10**9)
    play, decide, decisions, found = EpisodesRunner.run, Decider.decide, [], []

    def counted(runner, test_mode=False):
        before = len(decisions), pretend_gpu.counts.waits(), pretend_gpu.counts.sends()
        batch = play(runner, test_mode)
        now = len(decisions), pretend_gpu.counts.waits(), pretend_gpu.counts.sends()
        found.append([b - a for a, b in zip(before, now, strict=True)])
        return batch

    def noted(decider, *arguments, **named):
        decisions.append(decider)
        return decide(decider, *arguments, **named)

    EpisodesRunner.run, Decider.decide = counted, noted
    try:
        trained({**config, **never, "t_max": 60, "test_nepisode": 0}, "gpu")
    finally:
        EpisodesRunner.run, Decider.decide = play, decide
    return len(found) - 1, *(sum(kind) for kind in zip(*found[1:], strict=True))
