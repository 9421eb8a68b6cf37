"""`muster.testing` finds what is wrong with a learner or an agent, and passes those that are right."""

from typing import ClassVar

import pytest
import torch as th
import torch.nn as nn
import torch.nn.functional as F

from learners.coma_learner import COMALearner
from learners.q_learner import QLearner
from modules.agents.agent import Agent
from modules.agents.rnn_agent import RNNAgent
from muster.testing import check_agent, check_learner
from utils.errors import MusterError


class NoMask(QLearner):
    def _loss(self, td_error, mask):
        return (td_error**2).mean()


class Idle(QLearner):
    """A network that nothing is learned of."""

    def __init__(self, *parts):
        super().__init__(*parts)
        self.extra = self.networks["extra"] = nn.Linear(2, 3)
        self.optimiser.add_param_group({"params": list(self.extra.parameters())})


class Excused(Idle):
    without_gradient: ClassVar = {"extra.*": "a later stage learns it"}


class Detached(QLearner):
    def _loss(self, td_error, mask):
        return super()._loss(td_error.detach(), mask)


class NoStep(QLearner):
    def _step(self, optimiser, loss):
        return 0.0


class Forgetful(QLearner):
    def save_models(self, path):
        self.mac.save_models(path)

    def load_models(self, path):
        self.mac.load_models(path)


class Counting(QLearner):
    """Its steps depend on a number that checkpoints do not have."""

    def train(self, batch, t_env, episode_num):
        self.seen = vars(self).get("seen", 0) + 1
        super().train(batch, t_env, episode_num)


class Stays(QLearner):
    def cuda(self):
        self.mac.cuda()


@pytest.mark.parametrize(
    ("learner", "changes"),
    [
        ("q_learner", {"mixer": "qmix"}),
        (QLearner, {"mixer": None}),
        (COMALearner, {"agent_output_type": "pi_logits", "action_selector": "multinomial", "mixer": None}),
        ("qtran_learner", {"mixer": "qtran_base", "network_size": "small", "qtran_arch": "qtran_paper"}),
        (Excused, {"mixer": None}),
    ],
)
def test_a_learner_that_is_right_passes(learner, changes):
    check_learner(learner, **changes)


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (NoMask, "steps that were not played change the gradients, by .*valid_transitions"),
        (Idle, r"2 of \d+ weights got no gradient in 4 updates: extra.weight, extra.bias"),
        (Forgetful, "load_models does not give back mixer"),
        (Counting, "seen: set for the first time in train"),
        (Stays, r"cuda\(\) leaves mixer\.hyper_w_1\.weight.* on the CPU"),
    ],
)
def test_what_is_wrong_is_named(learner, words):
    with pytest.raises(AssertionError, match=f"^{learner.__name__}:\n- .*{words}"):
        check_learner(learner, mixer="qmix")


@pytest.mark.parametrize(
    ("learner", "words"), [(Detached, "the loss has no gradient"), (NoStep, "no weight got a grad")]
)
def test_a_learner_that_does_not_learn(learner, words):
    with pytest.raises(MusterError, match=words):
        check_learner(learner, mixer=None)


class Own(Agent):
    """The shared network of a user's own, in both forms."""

    def __init__(self, input_shape, args):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(input_shape, 8), nn.Linear(8, args.n_actions)

    def init_hidden(self):
        return self.fc2.weight.new_zeros(1, 1)

    def encode(self, inputs):
        return F.relu(inputs.through(self.fc1))

    def sequence(self, encoded, sizes, hidden_state):
        return self.fc2(encoded), th.zeros(len(encoded), 1)

    def forward(self, inputs, hidden_state):
        return self.fc2(F.relu(self.fc1(inputs))), hidden_state


class Drifted(Own):
    def sequence(self, encoded, sizes, hidden_state):
        outputs, hidden = super().sequence(encoded, sizes, hidden_state)
        return outputs + 1, hidden


class Spare(RNNAgent):
    def __init__(self, input_shape, args):
        super().__init__(input_shape, args)
        self.spare = nn.Linear(2, 2)


def test_forms_of_an_agent_are_compared():
    check_agent("rnn")
    check_agent(Own)
    with pytest.raises(
        AssertionError, match=r"all steps at once .* computes other outputs than forward, shared weights"
    ):
        check_agent(Drifted)
    with pytest.raises(AssertionError, match=r"no output depends on the weights spare\.weight, spare\.bias"):
        check_agent(Spare)
