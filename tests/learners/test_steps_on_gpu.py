"""Steps that are left out where they are computed equal those that are not made; here on the CPU's arithmetic."""

import copy
from types import SimpleNamespace

import pytest
import torch as th

from gpu_runs import on_gpu
from learners.non_finite import NonFiniteError
from learners.optimiser_steps import OptimiserSteps
from learners.steps_on_gpu import StepsOnGpu

NAN, INFINITE = float("nan"), float("inf")
OPTIMISERS = {
    "adam": lambda p: th.optim.Adam(p, 0.1),
    "fused adam": lambda p: th.optim.Adam(p, 0.1, fused=True),
    "rmsprop": lambda p: th.optim.RMSprop(p, 0.1, momentum=0.9, centered=True),
    "sgd": lambda p: th.optim.SGD(p, 0.1),
}


def _stepped(build):
    parameters = [th.nn.Parameter(th.linspace(-3, 3, 5)), th.nn.Parameter(th.tensor(2.5))]
    optimiser = build(parameters)
    _with_gradients(parameters, 0.3)
    optimiser.step()
    return parameters, optimiser


def _with_gradients(parameters, value):
    for parameter in parameters:
        parameter.grad = th.full_like(parameter, value)


def test_steps_are_taken_once_the_optimiser_remembers_all_it_will():
    """One that remembers nothing, from its second step on."""
    there = th.ones((), device="meta")
    for build in OPTIMISERS.values():
        steps, (parameters, optimiser) = StepsOnGpu(), _stepped(build)
        assert [steps.takes(optimiser, there) for _ in range(2)] == [False, True]
        assert not steps.takes(optimiser, there.new_ones((), device="cpu"))
        if optimiser.state:
            del optimiser.state[parameters[0]]
            assert not steps.takes(optimiser, there)


@pytest.mark.parametrize("build", OPTIMISERS.values(), ids=OPTIMISERS)
@pytest.mark.parametrize(("loss", "norm"), [(NAN, 1.0), (1.0, NAN), (INFINITE, 1.0), (1.0, -INFINITE)])
def test_a_step_that_is_not_finite_changes_nothing(build, loss, norm):
    parameters, optimiser = _stepped(build)
    kept = copy.deepcopy(([p.data for p in parameters], optimiser.state_dict()))
    steps = StepsOnGpu()
    _with_gradients(parameters, NAN)
    steps.make(optimiser, th.tensor(loss), th.tensor(norm))
    th.testing.assert_close(([p.data for p in parameters], optimiser.state_dict()), kept, rtol=0, atol=0)
    (found,) = steps.left_out()
    assert found == pytest.approx((loss, norm), nan_ok=True)
    assert steps.left_out() == []


@pytest.mark.parametrize("build", OPTIMISERS.values(), ids=OPTIMISERS)
def test_other_steps_are_the_optimisers(build):
    (ours, our_optimiser), (plain, optimiser) = _stepped(build), _stepped(build)
    steps = StepsOnGpu()
    for gradient in (0.5, 1e-30, -7.0):
        _with_gradients(ours, gradient)
        steps.make(our_optimiser, th.tensor(1.0), th.tensor(gradient))
        _with_gradients(plain, gradient)
        optimiser.step()
    th.testing.assert_close([p.data for p in ours], [p.data for p in plain], rtol=0, atol=0)
    assert steps.left_out() == []


@pytest.mark.slow
@pytest.mark.parametrize("choice", ["skip", "stop"])
def test_a_run_there_leaves_out_a_step_and_says_so(choice):
    weights, skipped, said = on_gpu(_with_a_spoilt_step, choice)
    assert weights, "the weights are no longer finite"
    assert (skipped, said) == ((1, "loss (nan)") if choice == "skip" else (0, "Not a finite number: loss (nan)"))


def _with_a_spoilt_step(choice):
    descent = OptimiserSteps(SimpleNamespace(grad_norm_clip=10, on_non_finite=choice))
    network = th.nn.Linear(3, 1).cuda()
    optimiser = th.optim.Adam(network.parameters(), 0.1)
    for scale in (1.0, 1.0, NAN, 1.0):
        descent._step(optimiser, network(th.ones(2, 3, device="cuda")).sum() * scale)
    said = ""
    try:
        descent.look_at_steps()
    except NonFiniteError as error:
        said = str(error)
    steps = next(iter(optimiser.state.values()))["step"]
    finite = all(bool(p.isfinite().all()) for p in network.parameters())
    return finite and float(steps) == 3, descent.skipped_updates, said or descent.turned_non_finite
