"""Every preset for a few steps, and whether a card's figures are the CPU's (benchmarks/gpu.py)."""

import logging
import math
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch as th
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from gpu_runs import config_of, on_card  # the same short runs that the tests play on a pretend GPU
from run import run
from small_training import needs_continuous_actions, preset_on_lbf, sees_entities

POINT = str(Path(__file__).with_name("point_env.py"))
SMALL = {"t_max": 120, "test_interval": 10**6, "log_interval": 40}
# what rounding of float32 makes of some hundred operations, of a figure and, of figures near 0, as a share of that
RELATIVE, ABSOLUTE = 1e-3, 1e-2
DRAWS = (
    "rand randn randint randperm rand_like randn_like randint_like bernoulli bernoulli_ exponential_ uniform_ normal "
    "normal_ random_ multinomial"
).split()


class SameDraws(TorchDispatchMode):
    """Random numbers of a card are drawn on the CPU: the generators of the two differ."""

    def __init__(self, card: str = "cuda"):
        super().__init__()
        self._card = card

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        options = options or {}
        name = operation._schema.name.removeprefix("aten::")
        if name not in DRAWS or (place := self._place(arguments, options)) is None:
            return operation(*arguments, **options)
        here = tree_map(_on_cpu, arguments)
        drawn = operation(*here, **{key: _on_cpu(value) for key, value in options.items()})
        return arguments[0].copy_(drawn) if name.endswith("_") else drawn.to(place)

    def _place(self, arguments: tuple, options: dict) -> th.device | None:
        """The card that the numbers are drawn on, if it is one."""
        device = options.get("device") or next((x.device for x in arguments if isinstance(x, th.Tensor)), None)
        return device if device is not None and th.device(device).type == self._card else None


def _on_cpu(value: Any) -> Any:
    if isinstance(value, th.Tensor):
        return value.cpu()
    return th.device("cpu") if isinstance(value, th.device) else value


def small_run(preset: str) -> dict[str, Any]:
    """A short run of a preset on an environment that needs no package."""
    if sees_entities(preset):
        return config_of(preset, "entities")
    if needs_continuous_actions(preset):
        return config_of(preset, "two_step", env="point", env_args={"time_limit": 5}, plugins=[POINT])
    if preset_on_lbf(preset)["learner"] == "iqn_learner":
        config = config_of(preset, "racing")
        # one process that looks at the card is enough
        return {**config, "runner": "episode"} if config["runner"] == "parallel" else config
    return config_of(preset, "skirmish", **SMALL)


def first_figures(preset: str, device: str, changes: dict[str, Any], same_draws: bool) -> dict[str, list[float]]:
    """The statistics of such a run on `device`, "cpu" or "cuda", with TF32 off."""
    th.backends.cudnn.allow_tf32 = th.backends.cuda.matmul.allow_tf32 = False
    sacred_run = SimpleNamespace(info={}, _id=None, log_scalar=lambda *_: None)
    with tempfile.TemporaryDirectory() as folder, SameDraws() if same_draws else nullcontext():
        config = small_run(preset) if device == "cpu" else on_card(small_run(preset))
        config |= {"local_results_path": folder, "use_cuda": device != "cpu", **changes}
        run(config, sacred_run, logging.Logger("quiet"))
    return {key: values for key, values in sacred_run.info.items() if isinstance(values, list) and values}


def comparison(there: dict[str, list], here: dict[str, list], relative: float = RELATIVE) -> str:
    """How the first figures of each statistic compare: "equal", or the one that differs most."""
    if there.keys() != here.keys():
        return f"other statistics: {', '.join(sorted(there.keys() ^ here.keys()))}"
    worst, found = 0.0, ""
    for key, values in here.items():
        one, other = _number(there[key][0]), _number(values[0])
        if one == other or (math.isnan(one) and math.isnan(other)):
            continue
        difference = abs(one - other) / (relative * (ABSOLUTE + abs(other)))
        if not difference <= worst:
            worst, found = difference, f"{key} {one:.6g}, not {other:.6g}"
    return found if not worst <= 1 else "equal"


def _number(value: Any) -> float:
    return float(value["value"] if isinstance(value, dict) else value)
