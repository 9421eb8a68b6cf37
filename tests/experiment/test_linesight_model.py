"""Linesight's weights in an agent give the same values, whatever scales the inputs; so do its optimiser's moments."""

import pytest
import torch as th

import linesight_network as theirs
from controllers.inputs import StepInputs
from experiment.linesight_model import InputScale, load_linesight, load_moments, names_in, sizes_of
from helpers import make_args
from modules.agents import REGISTRY
from utils.errors import ConfigError

N, Q = 3, 4
SIZES = {"rnn_hidden_dim": theirs.HIDDEN, "head_dim": theirs.DENSE // 2, "tau_features": theirs.COSINES}
SHAPES = {"obs/state_float": (theirs.FLOATS,), "obs/frames": (theirs.PICTURE, theirs.PICTURE, 1)}
OWN_MEAN, OWN_DEVIATION = theirs.normalisation(seed=5)


def agent_of(shapes=SHAPES, **changes):
    th.manual_seed(2)
    args = make_args(**{**REGISTRY.entry("iqn").defaults, **SIZES, **changes})
    args.n_actions = theirs.ACTIONS
    return REGISTRY["iqn"](shapes, args)


def inputs_of(own, centred):
    """Where ours are scaled by their numbers (own=False) or others, and pictures are in [-1, 1] or in [0, 1]."""
    mean, deviation = theirs.normalisation()
    own_mean, own_deviation = (OWN_MEAN, OWN_DEVIATION) if own else (mean, deviation)
    floats = th.tensor(own_deviation / deviation), th.tensor((own_mean - mean) / deviation)
    return InputScale(floats, (1.0, 0.0) if centred else (255 / 128, -1.0)), own_mean, own_deviation


def a_race():
    generator = th.Generator().manual_seed(3)
    pictures = th.randint(0, 256, (N, 1, theirs.PICTURE, theirs.PICTURE), generator=generator, dtype=th.uint8)
    floats = 3 * th.randn(N, theirs.FLOATS, generator=generator, dtype=th.float64)
    return pictures, floats, th.rand(Q * N, 1, generator=generator, dtype=th.float64)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("centred", [False, True])
def test_the_values_are_those_of_the_original(own, centred):
    agent, (pictures, floats, taus) = agent_of().double(), a_race()
    inputs, mean, deviation = inputs_of(own, centred)
    load_linesight(agent, theirs.weights(), inputs)
    channels_last = pictures.permute(0, 2, 3, 1).double()
    seen = {
        "obs/state_float": (floats - th.tensor(mean)) / th.tensor(deviation),
        "obs/frames": (channels_last - 128) / 128 if centred else channels_last / 255,
    }
    found = agent.quantiles_of(agent.encode(StepInputs(seen, None)), taus.view(Q, N))
    state = {name: value.double() for name, value in theirs.weights().items()}
    expected = theirs.values(state, pictures, floats, taus, *theirs.normalisation())
    th.testing.assert_close(found.flatten(0, 1), expected, rtol=1e-5, atol=1e-5)
    assert sizes_of(theirs.weights()) == {**SIZES, "floats": theirs.FLOATS, "actions": theirs.ACTIONS}


@pytest.mark.parametrize("own", [False, True])
def test_the_optimiser_continues_with_the_moments_of_the_same_gradients(own):
    """After one update from nothing, the first moments are a tenth of the gradients, in both parametrisations."""
    agent, (pictures, floats, taus) = agent_of().double(), a_race()
    inputs, mean, deviation = inputs_of(own, not own)
    load_linesight(agent, theirs.weights(), inputs)
    state = {name: value.double().requires_grad_() for name, value in theirs.weights().items()}
    theirs.values(state, pictures, floats, taus, *theirs.normalisation()).square().sum().backward()
    moments = {
        number: {"step": th.tensor(1.0), "exp_avg": 0.1 * weight.grad, "exp_avg_sq": 0.001 * weight.grad**2}
        for number, weight in enumerate(state.values())
    }
    optimiser = th.optim.RAdam(agent.parameters(), lr=0.25)
    load_moments(optimiser, agent, moments, inputs)
    channels_last = pictures.permute(0, 2, 3, 1).double()
    seen = {
        "obs/state_float": (floats - th.tensor(mean)) / th.tensor(deviation),
        "obs/frames": channels_last / 255 if own else (channels_last - 128) / 128,
    }
    agent.quantiles_of(agent.encode(StepInputs(seen, None)), taus.view(Q, N)).square().sum().backward()
    names = {ours: name for name, ours in names_in(agent).items()}
    for name, weight in agent.named_parameters():
        kept = optimiser.state[weight]
        assert float(kept["step"]) == 1
        th.testing.assert_close(kept["exp_avg"], 0.1 * weight.grad, rtol=1e-4, atol=1e-5)
        if not own or names[name] not in ("img_head.0.weight", "float_feature_extractor.0.weight"):
            th.testing.assert_close(kept["exp_avg_sq"], 0.001 * weight.grad**2, rtol=1e-4, atol=1e-5)
    assert optimiser.param_groups[0]["lr"] == 0.25


@pytest.mark.parametrize(
    ("agent", "change", "message"),
    [
        ({"dueling": False}, {}, "dueling=True"),
        ({"distribution": "quantiles"}, {}, "distribution=implicit"),
        ({"shapes": {"obs": (70,)}}, {}, "env_args.view=both"),
        ({"head_dim": 7}, {}, r"A_head.0.weight has the shape \[5, 134\], and ours, advantage1.weight, \[7, 134\]"),
        ({"shapes": {**SHAPES, "obs/frames": (60, 60, 1)}}, {}, "sizes of pictures"),
        ({}, {"V_head.0.bias": None}, "V_head.0.bias is missing"),
        ({}, {"conv.9.weight": th.ones(1)}, "it has no conv.9.weight"),
        ({}, {"iqn_fc.0.weight": th.ones(3)}, "other dimensions"),
        ({}, {"float_feature_extractor.0.weight": th.ones(6, 71)}, "takes 71 floats, and 70 numbers scale them"),
    ],
)
def test_other_networks_are_refused(agent, change, message):
    made, state = agent_of(**agent), {**theirs.weights(), **change}
    before = {name: value.clone() for name, value in made.state_dict().items()}
    with pytest.raises(ConfigError, match=message):
        state = {name: value for name, value in state.items() if value is not None}
        sizes_of(state)
        load_linesight(made, state, inputs_of(False, True)[0])
    assert all((before[name] == value).all() for name, value in made.state_dict().items())


@pytest.mark.parametrize("moments", [{}, {0: {"step": 1, "exp_avg": th.ones(3), "exp_avg_sq": th.ones(3)}}])
def test_other_moments_are_refused(moments):
    agent = agent_of()
    with pytest.raises(ConfigError, match=r"no moments of RAdam for img_head.0.weight"):
        load_moments(th.optim.RAdam(agent.parameters()), agent, moments, inputs_of(False, True)[0])
