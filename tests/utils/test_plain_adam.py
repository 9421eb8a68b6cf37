"""Steps of fused Adam without torch's checks."""

import pytest
import torch as th

from utils.tensors.optimisers import make_step


@pytest.mark.parametrize("options", [{}, {"weight_decay": 0.1}, {"amsgrad": True}, {"fused": False}])
def test_steps_are_those_of_torch(options):
    generator = th.Generator().manual_seed(2)
    start = [th.randn(3, 2, generator=generator), th.randn(3, generator=generator)]
    weights = [[x.clone().requires_grad_() for x in start] for _ in range(2)]
    ours, theirs = (th.optim.Adam(own, **{"lr": 0.01, "eps": 1e-5, "fused": True, **options}) for own in weights)
    for step in range(4):
        for parameters in zip(*weights, strict=True):
            gradient = th.randn(parameters[0].shape, generator=generator)
            for parameter in parameters:
                parameter.grad = gradient.clone()
        if step == 2:
            weights[0][1].grad = weights[1][1].grad = None
        ours.param_groups[0]["lr"] = theirs.param_groups[0]["lr"] = 0.01 / (step + 1)
        make_step(ours)
        theirs.step()
    for mine, other in zip(*weights, strict=True):
        assert th.equal(mine, other)
    for mine, other in zip(ours.state.values(), theirs.state.values(), strict=True):
        assert all(th.equal(mine[key], other[key]) for key in other)


def test_hooks_are_called():
    weight = th.ones(2, requires_grad=True)
    optimiser, called = th.optim.Adam([weight], fused=True), []
    optimiser.register_step_post_hook(lambda *_: called.append(1))
    for _ in range(3):
        weight.grad = th.ones(2)
        make_step(optimiser)
    assert len(called) == 3
