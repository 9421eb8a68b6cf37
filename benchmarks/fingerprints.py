"""Does a change leave every run as it was, bit for bit? Hashes of short runs of every algorithm with every runner.

    python benchmarks/fingerprints.py                     print them
    python benchmarks/fingerprints.py --check             compare them with those of this repository
    python benchmarks/fingerprints.py --record            write them into this repository, after a change that was meant
    python benchmarks/fingerprints.py --against ../before/src     compare them with those of another checkout

For each run three hashes are printed: of the weights at its end, of everything that was logged, and of the batches
that the learner was given. `benchmarks/data/fingerprints.json` has those of one kind of processor and one version of
torch; elsewhere, compare two checkouts.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from two_codes import import_from

OURS = Path(__file__).resolve().parents[1] / "src"
RECORDED = Path(__file__).parent / "data" / "fingerprints.json"
ALGORITHMS = {
    "iql": {},
    "vdn": {"agent": "ff"},
    "qmix": {"double_q": False},
    "qmix_fast": {"agent": "rnn_layernorm", "buffer_dtype": "float16"},
    "qmix_beta": {"obs_agent_id": False, "obs_last_action": False},
    "qtran": {},
    "coma": {"agent": "ff"},
    "coma_smac": {"mask_before_softmax": True},
    "pqn_vdn": {"epochs": 2, "minibatches": 2},
    "pqn_qmix": {"epochs": 1, "minibatches": 1},
}
# from transitions; their places have continuous actions, or choices
FROM_TRANSITIONS = {
    "ddpg": ("pendulum",),
    "td3": ("pendulum",),
    "sac": ("pendulum", "lbf"),
    "sac_v1": ("pendulum",),
    "masac": ("spread", "lbf"),
    "maddpg": ("spread",),
}
# actor-critics, and the presets of EPyMARL, on some places with some schedules
ACTOR_CRITICS = {
    "ppo": ("pendulum rollout",),
    "ippo": ("lbf rollout", "skirmish batched"),
    "mappo": ("lbf rollout", "skirmish rollout", "spread rollout"),
    "mappo_smac": ("skirmish rollout",),
    "ia2c": ("lbf rollout",),
    "maa2c": ("skirmish rollout",),
}
EPYMARL = ("ippo", "ippo_ns", "mappo", "mappo_ns", "ia2c", "maa2c", "maa2c_ns", "coma", "qmix", "qmix_ns", "vdn")
ACTOR_CRITICS |= {f"epymarl_{name}": ("lbf pipe",) for name in EPYMARL}
PLACES = {
    "lbf": ("episode", "pipe", "shared_memory"),
    "skirmish": ("episode", "shared_memory", "batched", "ahead", "continuous", "rollout"),
}
SCHEDULES = {
    "episode": {"runner": "episode", "batch_size_run": 1},
    "pipe": {"runner": "parallel", "env_transport": "pipe", "batch_size_run": 2},
    "shared_memory": {"runner": "parallel", "env_transport": "shared_memory", "batch_size_run": 2},
    "batched": {"runner": "batched", "batch_size_run": 4},
    "ahead": {"runner": "batched", "batch_size_run": 4, "overlap": True},
    "continuous": {"runner": "batched", "batched_mode": "continuous", "batch_size_run": 4},
    "rollout": {"runner": "rollout", "rollout_steps": 16, "batch_size_run": 4},
}
REFUSED = {"coma": ("rollout", "continuous", "ahead"), "pqn": ("continuous", "ahead")}
SETTINGS = {
    "pendulum": {"t_max": 240, "env_args": {"key": "Pendulum-v1", "time_limit": 20}},
    "spread": {"t_max": 240, "env_args": {"time_limit": 10, "kwargs": {"continuous_actions": True}}},
    "lbf": {"t_max": 240, "env_args": {"time_limit": 20, "compiled": False}},
    "skirmish": {"t_max": 400, "env_args": {"map_name": "3m"}},
}
SMALL = {
    "seed": 7,
    "batch_size": 4,
    "buffer_size": 16,
    "updates_per_rollout": 2,
    "target_update_interval": 4,
    "epsilon_anneal_time": 200,
    "test_interval": 150,
    "test_nepisode": 3,
    "log_interval": 100,
    "runner_log_interval": 50,
    "learner_log_interval": 50,
    "rnn_hidden_dim": 16,
    "mixing_embed_dim": 8,
    "hypernet_embed": 8,
    "use_cuda": False,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help=f"compare with {RECORDED.name}")
    what.add_argument("--record", action="store_true", help=f"write {RECORDED.name}, with --only a part of it")
    what.add_argument("--against", type=Path, help="src folder of another checkout")
    parser.add_argument("--only", default="", help="runs whose name has this regular expression in it")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        for name, hashes in fingerprints(options.child, options.only):
            print(json.dumps([name, hashes]), flush=True)
        return 0
    expected = None
    if options.check:
        expected = json.loads(RECORDED.read_text())
    elif options.against:
        expected = dict(in_child(options.against, options.only))
    found, different = {}, []
    for name, hashes in in_child(OURS, options.only):
        found[name] = hashes
        wrong = [part for part, value in hashes.items() if expected and expected.get(name, {}).get(part) != value]
        if wrong:
            different.append(name)
        verdict = f"  DIFFERENT: {', '.join(wrong)}" if wrong else ""
        print(f"{name:<34}" + "  ".join(hashes.values()) + verdict, flush=True)
    if options.record:
        kept = json.loads(RECORDED.read_text()) if options.only else {}
        RECORDED.write_text(json.dumps(kept | found, indent=1) + "\n")
    if expected is not None:
        missing = [name for name in expected if name not in found and re.search(options.only, name)]
        print(f"{len(found)} runs, {len(different)} different, {len(missing)} missing {', '.join(missing)}")
        return int(bool(different or missing))
    return 0


def in_child(src: Path, only: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The fingerprints of one checkout, in a separate process: both have modules of the same names."""
    command = [sys.executable, __file__, "--only", only, "--child", str(src.resolve())]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        for line in child.stdout:
            yield tuple(json.loads(line))
    if child.returncode:
        raise SystemExit(f"The runs of {src} failed with exit code {child.returncode}.")


# the configs of these places
ENV_CONFIGS = {"pendulum": "gymnasium", "spread": "mpe"}
# by the key's former name, which older checkouts know, too
STEPWISE = {"replay_ratio": 4, "buffer_size": 200, "random_steps": 20, "updates_per_rollout": 1, "rollout_steps": 2}


def names(only: str) -> Iterator[tuple[str, str, str, str]]:
    """Name, algorithm, environment and schedule of each run."""
    for algorithm in ALGORITHMS:
        for place, schedules in PLACES.items():
            for schedule in schedules:
                name = f"{algorithm} {place} {schedule}"
                # COMA trains on whole episodes, and both learn from the present policy
                if schedule in REFUSED.get(algorithm.split("_")[0], ()):
                    continue
                if re.search(only, name):
                    yield name, algorithm, place, schedule
    for algorithm, places in FROM_TRANSITIONS.items():
        for place in places:
            name = f"{algorithm} {place} rollout"
            if re.search(only, name):
                yield name, algorithm, place, "rollout"
    for algorithm, pairs in ACTOR_CRITICS.items():
        for pair in pairs:
            if re.search(only, f"{algorithm} {pair}"):
                yield f"{algorithm} {pair}", algorithm, *pair.split()


def fingerprints(src: Path, only: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Run everything with the code in `src`."""
    import_from(str(src))
    import logging

    from cli.compose import compose_config
    from learners import REGISTRY as learners
    from run import run
    from utils.config.merging import recursive_dict_update

    log = logging.getLogger("muster")
    log.addHandler(logging.StreamHandler(sys.stderr))
    log.setLevel(logging.ERROR)
    for name, algorithm, place, schedule in names(only):
        config = compose_config(algorithm, ENV_CONFIGS.get(place, place)).config
        changes = {**SMALL, **SETTINGS[place], **ALGORITHMS.get(algorithm, {}), **SCHEDULES[schedule]}
        if algorithm in FROM_TRANSITIONS:
            changes |= STEPWISE
        if learners.entry(config["learner"]).traits.get("on_policy"):
            changes["batch_size"] = changes["buffer_size"] = changes["batch_size_run"]
        changes["minibatches"] = min(
            changes.get("minibatches") or config.get("minibatches", 1), changes["batch_size_run"]
        )
        if config.get("chunk_length", 0) > 1:
            changes["chunk_length"] = changes["rollout_steps"] // 2
        with tempfile.TemporaryDirectory() as folder:
            recursive_dict_update(config, {**changes, "local_results_path": folder})
            with Witness(config["learner"]) as witness:
                run(config, log=log)
        yield name, witness.hashes()


class Witness:
    """Watches the log, the batches and the weights of a run of one learner, through names that PyMARL has, too."""

    def __init__(self, learner: str):
        from learners import REGISTRY
        from utils.logging import Logger

        self._class, self._logger_class = REGISTRY[learner], Logger
        self._batches = hashlib.sha256()
        self._logged: set[str] = set()
        self._learner: Any = None
        self.updates = 0

    def __enter__(self) -> "Witness":
        self._train, self._log_stat = self._class.train, self._logger_class.log_stat

        def train(learner: Any, batch: Any, t_env: int, episode_num: int) -> None:
            self._learner = learner
            self.updates += 1
            fields = {**batch.data.transition_data, **batch.data.episode_data}
            for key in sorted(fields):
                self._batches.update(f"{t_env} {episode_num} {key} {tuple(fields[key].shape)}".encode())
                self._batches.update(fields[key].contiguous().cpu().numpy().tobytes())
            self._train(learner, batch, t_env, episode_num)

        def log_stat(logger: Any, key: str, value: Any, t: int, *rest: Any, **named: Any) -> None:
            # rollouts played ahead are logged twice: by the thread that plays, and when the loop takes them
            self._logged.add(f"{key} {t} {float(value)!r}")
            self._log_stat(logger, key, value, t, *rest, **named)

        self._class.train, self._logger_class.log_stat = train, log_stat
        return self

    def __exit__(self, *_: Any) -> None:
        self._class.train, self._logger_class.log_stat = self._train, self._log_stat

    def hashes(self) -> dict[str, str]:
        """Of the weights, the log and the batches."""
        if self.updates < 3 or not self._logged:
            raise SystemExit(f"A run with only {self.updates} updates is no test.")
        weights = hashlib.sha256()
        for tensor in (*self._learner.mac.parameters(), *self._network_weights()):
            weights.update(tensor.detach().cpu().numpy().tobytes())
        logged = hashlib.sha256("\n".join(sorted(self._logged)).encode())
        parts = {"weights": weights, "logged": logged, "batches": self._batches}
        return {name: part.hexdigest()[:12] for name, part in parts.items()}

    def _network_weights(self) -> Iterator[Any]:
        for networks in (self._learner.networks, self._learner.target_networks):
            for name in sorted(networks):
                yield from networks[name].parameters()


if __name__ == "__main__":
    sys.exit(main())
