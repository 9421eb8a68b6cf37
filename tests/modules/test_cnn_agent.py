"""The agent that sees pictures."""

import pytest
import torch as th

from controllers.inputs import StepInputs
from helpers import make_args
from modules.agents.cnn_agent import CNNAgent
from utils.errors import ConfigError


def agent(shapes, **changes):
    return CNNAgent(shapes, make_args(rnn_hidden_dim=8, n_actions=3, **changes))


@pytest.mark.parametrize("shape", [(40, 36, 3), (3, 40, 36)])
@pytest.mark.parametrize("use_rnn", [False, True])
def test_a_sequence_is_its_steps(shape, use_rnn):
    th.manual_seed(0)
    net = agent({"obs": shape, "others": (2,)}, use_rnn=use_rnn)
    steps = [StepInputs({"obs": th.rand(2, *shape)}, th.rand(2, 2)) for _ in range(3)]
    hidden = net.init_hidden().expand(2, -1)
    outputs = []
    for step in steps:
        out, hidden = net(step, hidden)
        outputs.append(out)
    both = StepInputs({"obs": th.cat([s.observations["obs"] for s in steps])}, th.cat([s.others for s in steps]))
    unrolled, memory = net.sequence(net.encode(both), [2, 2, 2], net.init_hidden().expand(2, -1))
    assert th.allclose(unrolled, th.cat(outputs), atol=1e-6)
    assert bool(memory.any()) == use_rnn


def test_both_orders_of_axes_see_the_same_picture():
    th.manual_seed(0)
    last, first = agent({"obs": (40, 36, 3)}), agent({"obs": (3, 40, 36)})
    first.load_state_dict(last.state_dict())
    picture = th.rand(1, 40, 36, 3)
    seen = (
        last.encode(StepInputs({"obs": picture}, None)),
        first.encode(StepInputs({"obs": picture.permute(0, 3, 1, 2)}, None)),
    )
    assert th.equal(*seen)


@pytest.mark.parametrize(("shape", "width"), [((40, 36, 3), 8), ((35, 40, 3), 2), ((7, 7, 21), 2), ((8, 8, 111), 2)])
def test_small_pictures_have_layers_of_their_own(shape, width):
    first = agent({"obs": shape}).convs["obs"][0]
    assert (first.in_channels, first.kernel_size) == (shape[-1], (width, width))


def test_pictures_that_are_too_small_are_refused():
    with pytest.raises(ConfigError, match="3 x 9 pixels; its layers need 4"):
        agent({"obs": (3, 9, 2)})
