"""The compiler's stand-in, in a process of its own: it can take its place only where the compiler is not imported."""

import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"

TRAIN = """
import sys
import torch as th
from utils.tensors import lazy_dynamo
lazy_dynamo.defer()
net = th.nn.Linear(1, 1, bias=False)
optimiser = th.optim.Adam(net.parameters(), lr=0.5)
with th.no_grad():
    net.weight.fill_(2.0)
optimiser.zero_grad()
net(th.ones(1, 1)).sum().backward()
optimiser.step()
assert abs(net.weight.item() - 1.5) < 1e-6, "Adam's first step is as long as its rate"
optimiser.load_state_dict(optimiser.state_dict())
assert "torch._dynamo.symbolic_convert" not in sys.modules, "the compiler was imported"
"""

USE = """
import torch._dynamo
assert not torch.compiler.is_compiling()
graphs = []
def count(graph, inputs):
    graphs.append(graph)
    return graph.forward
double = torch.compile(lambda x: x * 2, backend=count)
assert double(th.ones(2)).tolist() == [2.0, 2.0] and len(graphs) == 1
from torch._dynamo import symbolic_convert
assert sys.modules["torch._dynamo"] is torch._dynamo and hasattr(torch._dynamo, "explain")
optimiser.zero_grad()
optimiser.step()
add = getattr(th.optim.Optimizer.add_param_group, "__wrapped__")
assert not hasattr(add, "__dynamo_disable"), "torch keeps the stand-in's answer"
"""


@pytest.mark.slow
def test_an_optimiser_does_not_import_the_compiler_and_a_compilation_does():
    words = [sys.executable, "-c", TRAIN + USE]
    ran = subprocess.run(words, env={"PYTHONPATH": str(SRC)}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
