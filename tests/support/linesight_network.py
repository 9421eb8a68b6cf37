"""Linesight's network by its description, small: its weights by its names, its outputs, and files as it saves them."""

import math
import pickle
from collections import OrderedDict, defaultdict

import numpy as np
import torch as th
import torch.nn.functional as F

CONVOLUTIONS = {0: (16, 1, 4, 2), 2: (32, 16, 4, 2), 4: (64, 32, 3, 2), 6: (32, 64, 3, 1)}  # out, in, width, stride
FLOATS, HIDDEN, DENSE, COSINES, ACTIONS = 70, 6, 10, 4, 12
PICTURE = 42
CONVOLVED = 128  # numbers that a picture of 42 becomes


def weights(seed=0, convolved=CONVOLVED):
    """By name, in the order of its parameters."""
    generator, shapes = th.Generator().manual_seed(seed), OrderedDict()
    for k, (channels, before, width, _) in CONVOLUTIONS.items():
        shapes[f"img_head.{k}"] = (channels, before, width, width)
    size = convolved + HIDDEN
    shapes |= {"float_feature_extractor.0": (HIDDEN, FLOATS), "float_feature_extractor.2": (HIDDEN, HIDDEN)}
    shapes |= {"A_head.0": (DENSE // 2, size), "A_head.2": (ACTIONS, DENSE // 2)}
    shapes |= {"V_head.0": (DENSE // 2, size), "V_head.2": (1, DENSE // 2), "iqn_fc.0": (size, COSINES)}
    found = OrderedDict()
    for name, shape in shapes.items():
        found[f"{name}.weight"] = th.randn(shape, generator=generator) / math.prod(shape[1:]) ** 0.5
        found[f"{name}.bias"] = 0.1 * th.randn(shape[0], generator=generator)
    return found


def normalisation(seed=1):
    """Means and deviations of its floats."""
    rng = np.random.default_rng(seed)
    return rng.normal(0, 2, FLOATS).round(3), rng.uniform(0.5, 3, FLOATS).round(3)


def values(state, pictures, floats, taus, mean, deviation):
    """`[Q * N, A]`: quantiles of N states, one fraction after another.

    Args:
        pictures: uint8 `[N, 1, H, W]`.
        floats: as they are `[N, F]`.
        taus: `[Q * N, 1]`.
    """
    layer = lambda name, x: F.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])  # noqa: E731
    leaky = lambda x: F.leaky_relu(x, 0.01)  # noqa: E731
    x = (pictures.to(floats) - 128) / 128
    for k, (*_, stride) in CONVOLUTIONS.items():
        x = leaky(F.conv2d(x, state[f"img_head.{k}.weight"], state[f"img_head.{k}.bias"], stride))
    y = (floats - th.tensor(mean)) / th.tensor(deviation)
    for k in (0, 2):
        y = leaky(layer(f"float_feature_extractor.{k}", y))
    cosines = th.cos(th.arange(1, COSINES + 1) * math.pi * taus)
    both = th.cat([x.flatten(1), y], dim=1).repeat(len(taus) // len(floats), 1) * leaky(layer("iqn_fc.0", cosines))
    advantage, value = (layer(f"{head}.2", leaky(layer(f"{head}.0", both))) for head in ("A_head", "V_head"))
    return value + advantage - advantage.mean(dim=-1, keepdim=True)


def saved(base, prefix="", frames=4321, **files):
    """The folder `save/run` below `base` as Linesight writes it; returns it."""
    folder, mean, deviation = base / "save" / "run", *normalisation()
    (base / "config_files").mkdir(parents=True)
    folder.mkdir(parents=True)
    text = "import numpy as np\n\nfloat_inputs_mean = np.array([{}])\nfloat_inputs_std = np.array([{}])\n"
    lines = [", ".join(map(str, one.tolist())) for one in (mean, deviation)]
    (base / "config_files" / "state_normalization.py").write_text(text.format(*lines))
    state = weights()
    th.save(OrderedDict((prefix + name, value) for name, value in state.items()), folder / "weights1.torch")
    optimiser = th.optim.RAdam([value.clone().requires_grad_() for value in state.values()], lr=1e-3, eps=1e-4)
    for weight in optimiser.param_groups[0]["params"]:
        weight.grad = th.ones_like(weight)
    optimiser.step()
    th.save(optimiser.state_dict(), folder / "optimizer1.torch")
    th.save({"scale": 1024.0}, folder / "scaler.torch")
    statistics = defaultdict(int, cumul_number_frames_played=frames, alltime_min_ms={"hock": 54320})
    statistics["rolling_mean_ms"] = {"hock": np.float64(55000.5)}
    (folder / "accumulated_stats.joblib").write_bytes(pickle.dumps(statistics))
    return folder
