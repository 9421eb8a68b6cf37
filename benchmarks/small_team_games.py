"""How fast are the compiled matrix games, grids of PyMARLzoo+ and Overcooked? Steps per second of random play.

python benchmarks/small_team_games.py
python benchmarks/small_team_games.py --python matrixgames=PYTHON overcooked=PYTHON --zoo FOLDER

Ours: 256 copies in one thread, observations, rewards and restarts included. The packages: one copy, stepped as it is,
where a Python (for PyMARLzoo+ the folder with pymarlzooplus/) is named; Overcooked with its features.
"""

import argparse
import importlib
import subprocess
import sys
import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SRC = Path(__file__).resolve().parents[1] / "src"
COPIES = 256
# ours -> its batched class and arguments, and the package's
GAMES: dict[str, tuple[str, dict[str, Any], str]] = {
    "matrixgames": ("envs.matrixgames.environment:MatrixGameBatch", {"time_limit": 25}, "matrixgames"),
    "pressureplate": ("envs.grids.environment:PressurePlateBatch", {}, "zoo"),
    "capturetarget": ("envs.grids.environment:CaptureTargetBatch", {}, "zoo"),
    "boxpushing": ("envs.grids.environment:BoxPushingBatch", {}, "zoo"),
    "overcooked": ("envs.overcooked.environment:OvercookedBatch", {}, "overcooked"),
}
ZOO = {
    "pressureplate": ("pressureplate_ai.pressureplate.environment", "PressurePlate", (15, 9, 4, 4, "linear")),
    "capturetarget": ("capture_target.src.capture_target_ai_py.environment", "CaptureTarget", (1, 2, [6, 6])),
    "boxpushing": ("box_pushing.src.box_pushing_ai_py.environment", "BoxPushing", (2, [6, 6])),
}


def timed(step: Callable[[], None], seconds: float) -> float:
    """How often a second `step` is done."""
    began, steps = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < seconds:
        for _ in range(20):
            step()
        steps += 20
    return steps / passed


def gymnasiums(env: Any, n: int, choices: int) -> Callable[[], None]:
    rng = np.random.default_rng(0)
    env.reset()

    def step() -> None:
        _, _, terminated, *_ = env.step([int(action) for action in rng.integers(choices, size=n)])
        if np.all(terminated):
            env.reset()

    return step


def theirs(game: str, folder: str) -> Callable[[], None]:
    """A step of the package's game."""
    warnings.simplefilter("ignore")
    if game == "matrixgames":
        import gymnasium
        import matrixgames  # type: ignore[import-not-found]  # noqa: F401

        return gymnasiums(gymnasium.make("climbing-nostate-v0").unwrapped, 2, 3)
    if game in ZOO:
        for name in ("pymarlzooplus", "pymarlzooplus.envs"):
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__path__ = [str(Path(folder) / name.replace(".", "/"))]
        module, name, arguments = ZOO[game]
        made = getattr(importlib.import_module(f"pymarlzooplus.envs.{module}"), name)(*arguments)
        return gymnasiums(made, 4 if game == "pressureplate" else 2, 4)
    from overcooked_ai_py.mdp.actions import Action  # type: ignore[import-not-found]
    from overcooked_ai_py.mdp.overcooked_env import OvercookedEnv  # type: ignore[import-not-found]
    from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld  # type: ignore[import-not-found]

    mdp = OvercookedGridworld.from_layout_name("cramped_room")
    env, rng = OvercookedEnv.from_mdp(mdp, horizon=500, info_level=0), np.random.default_rng(0)
    env.reset()

    def step() -> None:
        state, _, done, _ = env.step(tuple(Action.ALL_ACTIONS[a] for a in rng.integers(6, size=2)))
        mdp.featurize_state(state, env.mlam)
        if done:
            env.reset()

    return step


def ours(game: str, seconds: float) -> float:
    sys.path.insert(0, str(SRC))
    path, arguments, _ = GAMES[game]
    module, name = path.split(":")
    env = getattr(importlib.import_module(module), name)(COPIES, seed=list(range(COPIES)), **arguments)
    env.reset()
    rng, (_, n, choices) = np.random.default_rng(0), env.observed()["avail_actions"].shape

    def step() -> None:
        _, terminated, truncated = env.step({"actions": rng.integers(choices, size=(COPIES, n))})
        if (ended := terminated | truncated).any():
            env.reset(ended)

    timed(step, seconds / 3)
    return COPIES * timed(step, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--python", nargs="+", default=[], metavar="PACKAGE=PYTHON", help="which one has a package")
    parser.add_argument("--zoo", default="", help="the folder with pymarlzooplus/")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print("", timed(theirs(options.child, options.zoo), options.seconds), sep="\n")
        return
    pythons = dict(word.split("=", 1) for word in options.python)
    if options.zoo:
        pythons["zoo"] = sys.executable
    for game, (_, _, package) in GAMES.items():
        mine, text = ours(game, options.seconds), "package not named"
        if package in pythons:
            words = [pythons[package], __file__, "--child", game, "--seconds", str(options.seconds)]
            done = subprocess.run([*words, "--zoo", options.zoo], capture_output=True, text=True)
            text = (done.stderr.strip().splitlines() or ["failed"])[-1][:80]
            if not done.returncode:
                speed = float(done.stdout.splitlines()[-1])
                text = f"package {speed:>9,.0f}, {mine / speed:,.0f} times"
        print(f"{game:14} {mine:>12,.0f} steps/s, {text}")


if __name__ == "__main__":
    main()
