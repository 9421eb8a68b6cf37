"""Parts of a user's own that are wrong: each is named with its contract, or refused before a run has a record."""

import re

import pytest
import torch as th

from checks import check_config
from components.action_selectors import REGISTRY as selectors
from components.selectors import EpsilonGreedyActionSelector
from experiment.validation import validate
from learners import REGISTRY as learners
from learners.options import DOUBLE_Q, MIXER, STANDARDISE, TARGETS, TD_LAMBDA
from learners.q_learner import QLearner
from main import main
from modules.agents import REGISTRY as agents
from modules.agents.rnn_agent import RNNAgent
from modules.mixers import REGISTRY as mixers
from modules.mixers.vdn import VDNMixer
from own_parts import registries_restored
from small_training import assembled, small_config
from utils.config.traits import traits_of
from utils.errors import ConfigError, MusterError

OPTIONS = {**MIXER, **TD_LAMBDA, **DOUBLE_Q, **TARGETS, **STANDARDISE}


class Flat(VDNMixer):
    def forward(self, agent_qs, batch):
        return agent_qs.sum(-1)


class Wide(RNNAgent):
    def forward(self, inputs, hidden_state):
        outputs, hidden = super().forward(inputs, hidden_state)
        return th.cat([outputs, outputs], -1), hidden


class Alone(RNNAgent):
    def forward(self, inputs, hidden_state):
        return super().forward(inputs, hidden_state)[0]


class Columns(EpsilonGreedyActionSelector):
    def select_action(self, agent_inputs, avail_actions, t_env, test_mode=False):
        return super().select_action(agent_inputs, avail_actions, t_env, test_mode).unsqueeze(-1)


class NoMask(QLearner):
    def _loss(self, td_error, mask):
        return (td_error**2).mean()


class Detached(QLearner):
    def _loss(self, td_error, mask):
        return super()._loss(td_error.detach(), mask)


@pytest.fixture(autouse=True)
def restored():
    with registries_restored():
        yield


@pytest.mark.parametrize(
    ("registry", "key", "part", "words"),
    [
        (mixers, "mixer", Flat, r"mixer=own returned \[4, 2\], the contract is [B, T, 1] = \[4, 2, 1\]"),
        (agents, "agent", Wide, r"agent=own returned the outputs \[2, 4\], the contract is [N, A] = \[2, 2\]"),
        (agents, "agent", Alone, r"agent=own returned \[2, 2\], the contract is (outputs [N, A], hidden state)"),
        (
            selectors,
            "action_selector",
            Columns,
            r"the action selector Columns returned \[1, 2, 1\], the contract is [B, n] =",
        ),
    ],
)
def test_a_wrong_shape_is_named_with_its_contract(tmp_path, registry, key, part, words):
    registry["own"] = part
    words = words.replace("[B, T, 1]", r"\[B, T, 1\]").replace("[N, A]", r"\[N, A\]").replace("[B, n]", r"\[B, n\]")
    words = words.replace("(outputs", r"\(outputs").replace("state)", r"state\)")
    with (
        assembled(small_config(tmp_path, "qmix", **{key: "own"})) as parts,
        pytest.raises(MusterError, match=words),
    ):
        validate(parts.teams[0].args, parts, parts.teams[0].learner.logger)


def test_validation_warns_of_a_forgotten_mask(tmp_path, caplog):
    learners["own"] = NoMask
    with assembled(small_config(tmp_path, "vdn", learner="own")) as parts:
        validate(parts.teams[0].args, parts, parts.teams[0].learner.logger)
    assert re.search("learner=own: steps that were not played change the gradients", caplog.text)


def test_validation_stops_without_a_gradient(tmp_path):
    learners["own"] = Detached
    with (
        assembled(small_config(tmp_path, "vdn", learner="own")) as parts,
        pytest.raises(MusterError, match=r"^Detached: the loss has no gradient"),
    ):
        validate(parts.teams[0].args, parts, parts.teams[0].learner.logger)


@pytest.mark.parametrize(
    ("declared", "changes", "words"),
    [
        ({"mixers": ("qmix",)}, {"mixer": "vdn"}, "mixer=vdn does not go with learner=own. .*use mixer=qmix"),
        ({"mixers": "qmix"}, {"mixer": None}, "mixer=null does not go with learner=own"),
        ({"agents": ("ff",)}, {}, "agent=rnn does not go with learner=own"),
        ({"runners": ("batched",)}, {"runner": "parallel"}, "runner=parallel does not go with learner=own"),
    ],
)
def test_declared_pairings_are_refused_before_there_is_a_record(tmp_path, declared, changes, words):
    learners.declare("own", QLearner, "a user's own", learns_from="q", options=OPTIONS, **declared)
    with pytest.raises(ConfigError, match=words):
        check_config(small_config(tmp_path, "qmix", **{"learner": "own", **changes}))
    assert not list(tmp_path.iterdir())


def test_no_record_is_left_of_a_part_that_the_environment_lacks_something_for(tmp_path, capsys):
    agents.declare("own", RNNAgent, "it needs a picture", needs_pictures=True, options={})
    words = ["agent=own", f"local_results_path={tmp_path}", "t_max=10"]
    assert main(["--config=qmix", "--env-config=two_step", "with", *words]) == 2
    assert "agent=own: the environment shows no picture" in capsys.readouterr().err
    assert not [path for path in tmp_path.rglob("*") if path.name in ("run.json", "config.json", "metrics.csv")]


def test_a_misspelt_trait_is_refused():
    with pytest.raises(
        ConfigError, match=r"The mixer 'own' declares the trait 'learnes', .* Did you mean 'learners'\?"
    ):
        mixers.declare("own", VDNMixer, "a user's own", learnes=("q_learner",))
    assert "stepwise" in traits_of("mixer") and "stepwise" not in traits_of("learner")
