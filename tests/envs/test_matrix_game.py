"""The matrix game's values that PyMARL2's learners print."""

import subprocess
import sys

import pytest
import torch as th

from envs.matrix_game import print_matrix_status
from helpers import random_batch
from modules.mixers.vdn import VDNMixer


@pytest.mark.parametrize("estimates", [(), (5,)])
def test_the_value_of_every_joint_action_is_printed(capsys, estimates):
    """VDN: the table is the sum of the agents' values, 1, 2, 3 and 10, 20, 30."""
    batch = random_batch([2, 1], 4)
    own = th.tensor([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]).view(1, 1, 2, 3, *[1] * len(estimates))
    print_matrix_status(batch, VDNMixer(), own.expand(2, 4, 2, 3, *estimates))
    numbers = [float(word) for word in capsys.readouterr().out.replace("[", " ").replace("]", " ").split()
               if word[0].isdigit()]  # fmt: skip
    assert numbers == [11, 21, 31, 12, 22, 32, 13, 23, 33, 1, 2, 3, 10, 20, 30]


def test_the_games_own_module_needs_no_torch():
    program = "import sys; from envs.matrix_game import MatrixGame; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": "src"})
    assert done.stdout.strip() == "False", done.stderr
