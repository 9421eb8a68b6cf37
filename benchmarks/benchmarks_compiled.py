"""How fast are the compiled benchmarks? Steps per second of random play, of the package and of ours in the same run.

python benchmarks/benchmarks_compiled.py
python benchmarks/benchmarks_compiled.py --only lbf --seconds 3 --rounds 5
python benchmarks/benchmarks_compiled.py --python rware=../rware/bin/python --zoo ../pymarlzoo-plus
python benchmarks/benchmarks_compiled.py --only "stag hunt" --pymarl2 ../pymarl2

Ours: `--batch` copies in one thread, observations, rewards and restarts included. The package: one copy, without
Gymnasium's checks. Both take turns, and the medians of the rounds are compared.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

SRC = Path(__file__).resolve().parents[1] / "src"
WARM_UP = 0.3  # of the seconds


@dataclass
class Row:
    """A game of both.

    Args:
        key: of `gymma`; where it is another environment's, the package's name of it.
        package: which plays it.
        player: the function of this file that steps the package's game for some seconds and returns how many steps a
            second it made. It runs in the package's Python, which may lack Muster's packages.
        times: how many times as fast ours is meant to be.
        name: what the player makes; empty: `key`.
    """

    key: str
    package: str
    player: str = "gymnasium_game"
    times: float | None = None
    name: str = ""
    time_limit: int = 100
    batch: str = ""  # "module:class" of ours, where gymma does not have it


ROWS = {
    "lbf 8x8-2p-3f": Row("lbforaging:Foraging-8x8-2p-3f-v3", "lbforaging", times=500, time_limit=50),
    "lbf 2s-8x8-2p-2f-coop": Row("lbforaging:Foraging-2s-8x8-2p-2f-coop-v3", "lbforaging", time_limit=50),
    "lbf 15x15-4p-3f": Row("lbforaging:Foraging-15x15-4p-3f-v3", "lbforaging", time_limit=50),
    "rware tiny-2ag": Row("rware:rware-tiny-2ag-v2", "rware", time_limit=500),
    "rware tiny-4ag": Row("rware:rware-tiny-4ag-v2", "rware", times=500, time_limit=500),
    "rware small-4ag": Row("rware:rware-small-4ag-v2", "rware", time_limit=500),
    "rware tiny-19ag": Row("rware:rware-tiny-19ag-v2", "rware", time_limit=500),
    "rware medium-19ag-easy": Row("rware:rware-medium-19ag-easy-v2", "rware", time_limit=500),
    "mpe simple-spread": Row(
        "pz-mpe-simple-spread-v3", "mpe2", "parallel_game", times=500, name="mpe2.simple_spread_v3", time_limit=25
    ),
    "matrix climbing": Row("matrixgames:climbing-nostate-v0", "matrixgames", time_limit=25),
    "pressureplate 4p": Row("PressurePlate", "zoo", "zoo_game", batch="envs.grids.environment:PressurePlateBatch"),
    "capture target": Row("CaptureTarget", "zoo", "zoo_game", batch="envs.grids.environment:CaptureTargetBatch"),
    "box pushing": Row("BoxPushing", "zoo", "zoo_game", batch="envs.grids.environment:BoxPushingBatch"),
    "overcooked cramped_room": Row(
        "cramped_room", "overcooked", "overcooked_game", batch="envs.overcooked.environment:OvercookedBatch"
    ),
    "stag hunt": Row("stag_hunt", "pymarl2", "pymarl2_game", batch="envs.stag_hunt.environment:StagHuntBatch"),
}
# PyMARLzoo+'s: module, constructor's arguments, agents
ZOO = {
    "PressurePlate": ("pressureplate_ai.pressureplate.environment", (15, 9, 4, 4, "linear"), 4),
    "CaptureTarget": ("capture_target.src.capture_target_ai_py.environment", (1, 2, [6, 6]), 2),
    "BoxPushing": ("box_pushing.src.box_pushing_ai_py.environment", (2, [6, 6]), 2),
}


# the packages' games


def timed(step: Callable[[], None], seconds: float) -> float:
    """How often a second `step` is done."""
    began, steps = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < seconds:
        for _ in range(20):
            step()
        steps += 20
    return steps / passed


def gymnasium_game(name: str, seconds: float) -> float:
    """An id `module:Name-v0` whose spaces are tuples."""
    import gymnasium

    env = gymnasium.make(name, disable_env_checker=True).unwrapped
    env.reset(seed=0)
    return timed(random_steps(env, len(env.action_space), env.action_space[0].n), seconds)


def random_steps(env: Any, n: int, choices: int) -> Callable[[], None]:
    rng = np.random.default_rng(0)

    def step() -> None:
        _, _, terminated, truncated, *_ = env.step(rng.integers(choices, size=n).tolist())
        if np.all(terminated) or np.all(truncated):
            env.reset()

    return step


def zoo_game(name: str, seconds: float) -> float:
    """A game of PyMARLzoo+, without the package round it, whose folder is $ZOO."""
    for package in ("pymarlzooplus", "pymarlzooplus.envs"):
        sys.modules[package] = types.ModuleType(package)
        sys.modules[package].__path__ = [str(Path(os.environ["ZOO"], *package.split(".")))]
    module, arguments, n = ZOO[name]
    env = getattr(importlib.import_module(f"pymarlzooplus.envs.{module}"), name)(*arguments)
    env.reset()
    return timed(random_steps(env, n, 4), seconds)


def pymarl2_game(name: str, seconds: float) -> float:
    """The stag hunt of PyMARL2, without the package round it, whose folder is $PYMARL2."""
    import yaml

    folder = Path(os.environ["PYMARL2"], "src")
    sys.modules["envs"] = types.ModuleType("envs")
    sys.modules["envs"].__path__ = [str(folder / "envs")]
    sys.path.append(str(folder))
    with open(folder / "config" / "envs" / f"{name}.yaml") as file:
        arguments = yaml.safe_load(file)["env_args"]
    env = importlib.import_module(f"envs.{name}").StagHunt(batch_size=None, **arguments)
    env.reset()
    rng = np.random.default_rng(0)

    def step() -> None:
        legal = np.array(env.get_avail_actions())
        _, over, _ = env.step((rng.random(legal.shape) * (legal > 0)).argmax(axis=-1))
        env.get_obs(), env.get_state()
        if over:
            env.reset()

    return timed(step, seconds)


def overcooked_game(name: str, seconds: float) -> float:
    """A kitchen of Overcooked-AI, with its features."""
    from overcooked_ai_py.mdp.actions import Action  # type: ignore[import-not-found]
    from overcooked_ai_py.mdp.overcooked_env import OvercookedEnv  # type: ignore[import-not-found]
    from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld  # type: ignore[import-not-found]

    mdp = OvercookedGridworld.from_layout_name(name)
    env, rng = OvercookedEnv.from_mdp(mdp, horizon=500, info_level=0), np.random.default_rng(0)
    env.reset()

    def step() -> None:
        state, _, done, _ = env.step(tuple(Action.ALL_ACTIONS[a] for a in rng.integers(6, size=2)))
        mdp.featurize_state(state, env.mlam)
        if done:
            env.reset()

    return timed(step, seconds)


def parallel_game(name: str, seconds: float) -> float:
    """A module with a `parallel_env`."""
    env = importlib.import_module(name).parallel_env()
    env.reset(seed=0)
    choices = {agent: env.action_space(agent).n for agent in env.agents}
    rng = np.random.default_rng(0)

    def step() -> None:
        env.step({agent: int(rng.integers(n)) for agent, n in choices.items()})
        if not env.agents:
            env.reset()

    return timed(step, seconds)


def theirs(row: Row, python: str, seconds: float) -> float | str:
    """Steps a second of the package, in a process of that Python; or why there are none."""
    words = [python, __file__, "--child", row.player, row.name or row.key, str(seconds)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it printed nothing"]
        return f"{row.package} is missing" if "ModuleNotFoundError" in done.stderr else lines[-1][:100]
    return float(json.loads(done.stdout.splitlines()[-1]))


# ours


def made(row: Row, batch: int) -> Any:
    """That many copies, each begun; None: Muster has not compiled this game."""
    sys.path.insert(0, str(SRC))
    from envs.pettingzoo import gymma

    seeds, words = list(range(batch)), {"key": row.key, "time_limit": row.time_limit}
    if row.batch:
        module, _, name = row.batch.partition(":")
        env = getattr(importlib.import_module(module), name)(batch, seed=seeds)
    elif gymma.is_compiled(**words):
        env = gymma.batch(batch, threads=1, seed=seeds, **words)
    else:
        return None
    env.reset()
    return env


def ours(env: Any, batch: int, seconds: float) -> float:
    """Steps a second of all copies together."""
    rng = np.random.default_rng(0)
    legal = env.observed()["avail_actions"]
    all_legal = bool(legal.all())

    def step() -> None:
        shown = env.observed()["avail_actions"]
        if all_legal:
            actions = rng.integers(legal.shape[2], size=legal.shape[:2])
        else:
            actions = (rng.random(legal.shape, np.float32) * shown).argmax(axis=-1)
        _, terminated, truncated = env.step({"actions": actions})
        ended = terminated | truncated
        if ended.any():
            env.reset(ended)

    timed(step, WARM_UP * seconds)  # spreads the copies over their episodes
    return batch * timed(step, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", default=[""], metavar="WORD", help="rows with one of these in their name")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=256, help="copies of ours")
    parser.add_argument("--python", nargs="+", default=[], metavar="PACKAGE=PYTHON", help="which one has a package")
    parser.add_argument("--zoo", default="", metavar="FOLDER", help="the folder with pymarlzooplus/")
    parser.add_argument("--pymarl2", default="", metavar="FOLDER", help="a checkout of PyMARL2")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        player, name, seconds = options.child
        print(json.dumps(globals()[player](name, float(seconds))))
        return
    os.environ |= {"ZOO": options.zoo, "PYMARL2": options.pymarl2}
    pythons = dict(word.split("=", 1) for word in options.python)
    print(f"steps per second, random play: the package with one copy, ours with {options.batch} in one thread")
    for title, row in ROWS.items():
        if not any(word in title for word in options.only):
            continue
        if (env := made(row, options.batch)) is None:
            print(f"{title:24} not compiled")
            continue
        rounds = [
            (
                theirs(row, pythons.get(row.package, sys.executable), options.seconds),
                ours(env, options.batch, options.seconds),
            )
            for _ in range(options.rounds)
        ]
        mine = median(pair[1] for pair in rounds)
        package = [pair[0] for pair in rounds if isinstance(pair[0], float)]
        if not package:
            print(f"{title:24} {rounds[0][0]:>12}  {mine:>12,.0f}")
            continue
        aim = f", aim {row.times:.0f}" if row.times else ""
        print(f"{title:24} {median(package):>12,.0f}  {mine:>12,.0f}  {mine / median(package):,.0f} times{aim}")


if __name__ == "__main__":
    main()
