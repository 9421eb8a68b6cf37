"""Runs on the pretend GPU, in a process of their own: torch cannot go back to having none."""

import multiprocessing.process
import os
import sys
import tempfile
import traceback
from collections import Counter
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch as th

from checkpoints.resumption import Resumption
from cli.compose import compose_config
from experiment.loop import TrainingLoop
from experiment.updates import Updates
from forked import CONTEXT, start_forked
from learners import REGISTRY as learners
from run import run
from small_training import SETTINGS, SHORT, needs_continuous_actions, preset_on_lbf, sees_entities, shorter, suited

NO_STATISTICS = dict.fromkeys(("test_interval", "log_interval", "learner_log_interval", "runner_log_interval"), 10**9)


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
    config = suited(config, {**SETTINGS, **shorter(config), **lengths, **in_process, "env_args": env_args, **changes})
    if learners.entry(config["learner"]).traits.get("on_policy"):
        config["minibatches"], config["batch_size"], config["buffer_size"] = 1, *[config["batch_size_run"]] * 2
    return config


def on_card(config: dict[str, Any]) -> dict[str, Any]:
    """The config of a run that acts on the card, and keeps its experience elsewhere, if the config does not say where.

    For runs as small as these, `auto` would choose the opposite.
    """
    chosen = {"acting_device": "cuda", "buffer_cpu_only": True}
    return config | {key: value for key, value in chosen.items() if config[key] == "auto"}


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


class Counted(NamedTuple):
    """Of the second half of a run on the pretend GPU: how often the card must answer, and how often it is sent to.

    Each is (answers, sends): of playing, by decision; of an update; of the rest of a round (storing, sampling).
    `blocking`: lines of src/ that waited until the card had what they sent.
    """

    decision: tuple[float, float]
    update: tuple[float, float]
    rest: tuple[float, float]
    blocking: set[str]


def waits_and_sends(config: dict[str, Any]) -> Counted:
    """Of a run without tests and statistics."""
    import pretend_gpu
    from controllers.decisions import Decider

    counts, rounds, now = pretend_gpu.counts, [], Counter()
    counts.places = Counter()

    def counted(name, function):
        def called(*arguments, **named):
            before = counts.answers(), counts.sends()
            try:
                return function(*arguments, **named)
            finally:
                now.update({name: 1, (name, 0): counts.answers() - before[0], (name, 1): counts.sends() - before[1]})

        return called

    def of_a_round(loop):
        now.clear()
        loop.collection.take = counted("play", loop.collection.take)
        gather_and_learn(loop)
        del loop.collection.take
        rounds.append((Counter(now), Counter(counts.places)))

    kept = TrainingLoop._gather_and_learn, Updates._update, Decider.decide
    gather_and_learn = counted("round", kept[0])
    TrainingLoop._gather_and_learn = of_a_round
    Updates._update, Decider.decide = counted("update", kept[1]), counted("decide", kept[2])
    try:
        trained({**config, **NO_STATISTICS, "t_max": 40, "test_nepisode": 0}, "gpu")
    finally:
        TrainingLoop._gather_and_learn, Updates._update, Decider.decide = kept
        places, counts.places = counts.places, None
    half = len(rounds) // 2
    later = sum((found for found, _ in rounds[half:]), Counter())
    rest = [later["round", kind] - later["play", kind] - later["update", kind] for kind in (0, 1)]
    return Counted(
        tuple(later["play", kind] / later["decide"] for kind in (0, 1)),
        tuple(later["update", kind] / later["update"] for kind in (0, 1)),
        tuple(of_rest / later["round"] for of_rest in rest),
        {line for what, line in places - rounds[half - 1][1] if what in pretend_gpu.BLOCKING},
    )
