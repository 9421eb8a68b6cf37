"""Every learner updates in two processes as in one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from learners import REGISTRY
from small_training import preset_of

ROOT = Path(__file__).resolve().parents[2]
# beside the plainest preset of each learner: recurrent policies and critics, agents in turn, entities, IQN's fractions,
# dropout, and a step that is clipped by gradients of others' weights
DROPOUT = "pymarlzoo_commformer"
OTHERS = ("coma", "ppo_recurrent", "mappo", "hatrpo", "haddpg", "enn_ppo", "iqn", "qplex", DROPOUT)
OTHERS += (f"{DROPOUT} commformer_dropout=0 edge_draws=graph edge_interval=2 epochs=2",)
# HATRPO's conjugate gradients amplify what rounding makes of them
MOST, OF_HATRPO = 1e-5, 1e-4


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_processes_equal_one(tmp_path):
    """A pair of processes updates all of them, one after another, from samples of three episodes."""
    names = list(dict.fromkeys([*(preset_of(name) for name in sorted(REGISTRY)), *OTHERS]))
    script = ROOT / "tests" / "support" / "shared_updates.py"
    paths = os.pathsep.join([str(ROOT / "src"), str(script.parent)])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    pair = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), str(tmp_path / "store"), *names],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        lines = pair[0].communicate()[0].splitlines()
        assert [process.wait() for process in pair] == [0, 0]
    finally:
        for process in pair:
            process.kill()
            process.wait()
    found = {name: figures for name, *figures in map(json.loads, lines)}
    assert list(found) == names
    far = {
        name: figures for name, figures in found.items() if max(figures[:2]) > (OF_HATRPO if name == "hatrpo" else MOST)
    }
    assert not far
    # dropout's numbers are of all rows
    assert [name for name, (*_, shared) in found.items() if not shared] == [DROPOUT]
