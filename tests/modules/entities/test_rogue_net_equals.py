"""RogueNet computes what rogue-net computes: logits, entropies, values, gradients and moved statistics.

`rogue_net_figures.json` has the figures of rogue-net d91fb93. `MUSTER_ENN=PATHS pytest tests/modules/entities` makes
others beside it: paths, as in PYTHONPATH, to rogue-net, entity-gym, and a folder with ragged-buffer, torch-scatter and
NumPy 1.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch as th

from entity_frames import allowed, net_inputs
from modules import fast_linear
from modules.entities.embedding import InputNorm
from modules.entities.rogue_net import RogueNet
from rogue_net_cases import CASES, frames, names_digest, norm_rows, weights

STORED = Path(__file__).with_name("rogue_net_figures.json")
SUPPORT = Path(__file__).parents[2] / "support"
WITHIN = {"abs": 1e-5, "rel": 1e-5}


@pytest.fixture(scope="module", params=["stored", pytest.param("beside", marks=pytest.mark.slow)])
def originals(request, tmp_path_factory):
    """Figures of rogue-net."""
    if request.param == "stored":
        return json.loads(STORED.read_text())
    paths = os.environ.get("MUSTER_ENN")
    if not paths:
        pytest.skip("set MUSTER_ENN to paths of rogue-net and what it imports")
    file = tmp_path_factory.mktemp("rogue_net") / "figures.json"
    path = os.pathsep.join([paths, str(SUPPORT)])
    command = [sys.executable, str(SUPPORT / "rogue_net_child.py"), "1", str(file)]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=True, timeout=200)
    return json.loads(file.read_text())


@pytest.fixture(params=["torch", "oneDNN"])
def linear_layers(request, monkeypatch):
    """Whose kernels compute the transformer's linear layers; these few tokens would leave all to torch's."""
    if request.param == "oneDNN":
        monkeypatch.setattr(fast_linear, "_FASTER", True)
        monkeypatch.setattr(fast_linear, "LEAST_WORK", 0)
        monkeypatch.setattr(fast_linear, "rows_step", lambda tokens: 1)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_network(originals, case, linear_layers):
    seed, theirs = originals["seed"], originals["cases"][case.name]
    net = RogueNet(case.space, case.global_features, case.actions, case.net, {"value": 1})
    shapes = {name: value.shape for name, value in net.state_dict().items()}
    assert names_digest(shapes) == theirs["names"]
    net.load_state_dict({name: th.as_tensor(value) for name, value in weights(shapes, seed).items()})
    all_frames = frames(case, seed)
    logits, outputs = net(**net_inputs(case, all_frames), take_in=True)

    total = outputs["value"].square().sum()
    for name, values in logits.items():
        may = allowed(case, all_frames, name, values.shape)
        present = may.any(-1)
        log_probs = values.masked_fill(~may, -1e9).log_softmax(-1)
        entropy = -(log_probs.exp() * log_probs).sum(-1)[present]
        assert entropy.tolist() == pytest.approx(theirs["entropy"][name], **WITHIN)
        assert log_probs[may].tolist() == pytest.approx(theirs["log_probs"][name], **WITHIN)
        total = total + entropy.sum()
    assert outputs["value"].flatten().tolist() == pytest.approx(theirs["value"], **WITHIN)

    total.backward()
    gradients = {n: p.grad.abs().sum().item() for n, p in net.named_parameters() if p.grad is not None}
    assert [gradients[n] for n in sorted(gradients)] == pytest.approx(theirs["gradients"], abs=1e-4, rel=1e-4)
    moved = dict(net.named_buffers())
    for name, values in zip(sorted(moved), theirs["moved"], strict=True):
        assert moved[name].flatten().tolist() == pytest.approx(values, **WITHIN)


def test_input_norm(originals):
    theirs, norm = originals["input norm"], InputNorm(3)
    for rows, expected in zip(norm_rows(originals["seed"]), theirs["outputs"], strict=True):
        norm.take_in(th.as_tensor(rows))
        assert norm(th.as_tensor(rows)).flatten().tolist() == pytest.approx(
            [x for row in expected for x in row], **WITHIN
        )
    assert norm.count == theirs["count"]
    assert norm.mean.tolist() == pytest.approx(theirs["mean"], **WITHIN)
    assert norm.squares_sum.tolist() == pytest.approx(theirs["sum"], **WITHIN)
