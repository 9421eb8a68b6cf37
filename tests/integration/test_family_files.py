"""Files of PyMARL, EPyMARL and PyMARL2 run as they are, beside ours: learners, mixers, agents, critics, environments.

They are brought from outside: `MUSTER_FAMILY=FOLDER pytest tests/integration/test_family_files.py`, where the folder
has checkouts named pymarl, epymarl and pymarl2.
"""

import importlib.util
import math
import os
from pathlib import Path

import pytest
import torch as th

from family_cases import CASES
from family_overlay import ROOT, family_config, overlay, run_overlay

FAMILY = os.environ.get("MUSTER_FAMILY")
pytestmark = [
    pytest.mark.skipif(not FAMILY, reason="set MUSTER_FAMILY to a folder with pymarl, epymarl and pymarl2"),
    pytest.mark.timeout(400),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_trains(case, tmp_path):
    for package in case.needs:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"these files import {package}, which is not installed")
    if case.without_cuda and not th.cuda.is_available():
        pytest.skip(f"{case.without_cuda}, and there is no CUDA device here")
    family = Path(FAMILY).resolve() / case.family
    plugin = overlay(tmp_path, family, case)
    config = family_config(family, case)
    stats = run_overlay(tmp_path, [ROOT / "docs" / "examples" / "meeting.py", plugin], config)
    learned = {key: stats[key] for key in stats if ("loss" in key or "grad_norm" in key) and not key.endswith("_T")}
    assert learned, sorted(stats)
    for key, values in learned.items():
        assert all(isinstance(value, float) and math.isfinite(value) for value in values), (key, values)
    folders = sorted(tmp_path.glob("results/models/*/[0-9]*"), key=lambda path: int(path.name))
    assert len(folders) > 2
    before, after = (_weights(folder) for folder in (folders[0], folders[-1]))
    for name, weights in after.items():
        assert all(th.isfinite(weight).all() for weight in weights.values()), name
        assert any(not th.equal(weight, before[name][key]) for key, weight in weights.items()), f"{name} did not learn"


def _weights(folder):
    """Networks by file name; optimisers are left out. EPyMARL's unshared critics are lists of networks."""
    found = {}
    for path in folder.glob("*.th"):
        state = th.load(path, weights_only=True)
        parts = state if isinstance(state, list) else [state]
        if "opt" not in path.stem:
            found[path.name] = {f"{i}.{key}": value for i, part in enumerate(parts) for key, value in part.items()}
    assert "agent.th" in found
    return {name: weights for name, weights in found.items() if weights}
