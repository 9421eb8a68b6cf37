"""How a learner declares the batch fields that it needs."""

import re
from types import SimpleNamespace

import pytest
import torch as th

from learners import REGISTRY
from learners.batch_fields import batch_fields
from run import run
from utils.errors import ConfigError

ENV_INFO = {"n_agents": 2, "n_actions": 3, "state_shape": 4, "obs_shape": (5, 6), "episode_limit": 7}


class Plain:
    """A learner that knows nothing of declarations."""


def _declare(monkeypatch, fields):
    monkeypatch.setitem(REGISTRY._entries, "own", None)
    REGISTRY.declare("own", Plain, "as PyMARL2's, whose file stays as it is", batch_fields=fields)


def test_a_declaration_becomes_an_entry_of_the_scheme(monkeypatch):
    team = {"vshape": 1, "group": None, "dtype": "int64"}
    _declare(monkeypatch, {"probs": {"vshape": ("n_actions", 2)}, "value": team})
    assert batch_fields("own", ENV_INFO) == {
        "probs": {"vshape": (3, 2), "group": "agents", "dtype": th.float32, "decision": True},
        "value": {"vshape": (1,), "dtype": th.int64, "decision": True},
    }


def test_extras_of_decisions_are_needed_by_name(monkeypatch):
    monkeypatch.setitem(REGISTRY._entries, "own", None)
    fields = {"entropy": {"vshape": 1, "group": None}}
    REGISTRY.declare("own", Plain, "", needs_acting=("log_prob", "greedy", "q_values", "entropy"), batch_fields=fields)
    entry = {"group": "agents", "dtype": th.float32, "decision": True}
    assert batch_fields("own", ENV_INFO) == {
        "log_prob": {"vshape": (1,), **entry},
        "greedy": {"vshape": (1,), **entry, "dtype": th.uint8},
        "q_values": {"vshape": (3,), **entry},
        # its own declaration counts
        "entropy": {"vshape": (1,), "dtype": th.float32, "decision": True},
    }


def test_needs_may_depend_on_the_config():
    needed = lambda **args: set(batch_fields("ppo_learner", ENV_INFO, SimpleNamespace(**args)))  # noqa: E731
    assert needed() == {"log_prob"}
    assert needed(use_rollout_values=True, critic="trunk") == {"log_prob", "value"}
    assert needed(use_rollout_values=True, critic="state_values") == {"log_prob"}


def test_an_unknown_need_is_refused(monkeypatch):
    monkeypatch.setattr(Plain, "needs_acting", ("logprob",), raising=False)
    _declare(monkeypatch, {})
    with pytest.raises(ConfigError, match=r"learner=own: needs_acting names 'logprob'. Did you mean 'log_prob'\?"):
        batch_fields("own", ENV_INFO)


@pytest.mark.parametrize("learner", ["q_learner", "qtran_learner", "coma_learner", "pqn_learner"])
def test_learners_that_need_none_keep_pymarls_scheme(learner):
    assert batch_fields(learner, ENV_INFO) == {}


@pytest.mark.parametrize(
    ("info", "message"),
    [
        (3, "must be a mapping with a 'vshape'"),
        ({"group": "agents"}, "must be a mapping with a 'vshape'"),
        ({"vshape": "n_action"}, "n_action is not a size.*Did you mean 'n_actions'"),
        ({"vshape": "obs_shape"}, "obs_shape is not a size"),
        ({"vshape": 0}, "0 is not a size"),
        ({"vshape": (1000, 1001)}, "1001000 numbers for an agent"),
        ({"vshape": 1, "dtype": "float23"}, "no type 'float23' in torch"),
        ({"vshape": 1, "dtyp": "float32"}, "an entry 'dtyp'. Did you mean 'dtype'"),
        ({"vshape": 1, "group": "enemies"}, "'agents' or None, not 'enemies'"),
    ],
)
def test_invalid_declarations(monkeypatch, info, message):
    _declare(monkeypatch, {"probs": info})
    with pytest.raises(ConfigError, match=re.escape(message).replace(r"\.\*", ".*")):
        batch_fields("own", ENV_INFO)


def test_fields_that_every_batch_has_are_not_the_learners(monkeypatch):
    _declare(monkeypatch, {"reward": {"vshape": 1}})
    with pytest.raises(ConfigError, match="learner=own declares batch_fields that every batch has: reward"):
        run({"learner": "own", "t_max": 5, "seed": 1})
