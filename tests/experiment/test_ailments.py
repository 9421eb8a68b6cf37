"""What rollouts are made of, and the line of warning while a run trains."""

import logging
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from envs import REGISTRY as ENVIRONMENTS
from envs.contract.fields import EnvSpec, FieldSpec
from experiment.ailments import Ailments
from experiment.vitals import ENOUGH, Vitals
from learners import REGISTRY as LEARNERS
from learners.q_learner import QLearner
from run import run
from small_training import assembled, small_config

# diagnostics that keep nothing
NOWHERE = SimpleNamespace(t_env=12, note_rollouts=lambda figures: None)


class Metres:
    """Two agents; one of four observations is beyond its bound, one of three masks has one choice; six steps."""

    groups, episode_limit = {"agents": 2}, 6

    def __init__(self, ends=True, seed=None):
        self._ends, self._step = ends, 0

    def fields(self):
        return {
            "obs": FieldSpec("observation", (3,), low=-1.0, high=(1.0, 1.0, 50.0)),
            "state": FieldSpec("observation", (2,), group=None),
            "avail_actions": FieldSpec("mask", (4,), "uint8", of="actions"),
            "actions": FieldSpec("action", (), "int64", n=4),
            "reward": FieldSpec("outcome", (), "float64", group=None),
        }

    def reset(self):
        self._step = 0

    def observe(self):
        obs, legal = np.zeros((2, 3), np.float32), np.ones((2, 4), np.uint8)
        obs[0] = [0, 0, 51 if self._step % 2 == 0 else 50]
        legal[:, 1:] = self._step % 3 != 0
        return {"obs": obs, "state": np.full(2, -self._step, np.float32), "avail_actions": legal}

    def step(self, actions):
        self._step += 1
        over = self._step == self.episode_limit
        return {"reward": 1.0}, over and self._ends, over and not self._ends, {}

    def close(self):
        pass


class Detached(QLearner):
    """Its loss does not depend on the weights."""

    def _loss(self, td_error, mask):
        return 0 * super()._loss(td_error, mask)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for registry in (ENVIRONMENTS, LEARNERS):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    ENVIRONMENTS["metres"], LEARNERS["detached"] = Metres, Detached


def batch_of(fields, groups, steps, arrays):
    """One episode of these arrays, all of whose steps are filled."""
    course = {"filled": th.ones(1, steps, 1), **dict.fromkeys(("terminated", "truncated"), th.zeros(1, steps, 1))}
    batch = type("Batch", (dict,), {"scheme": fields, "groups": groups})
    return batch({**course, **arrays})


def looked_at(fields, groups, batch):
    vitals = Vitals(EnvSpec(fields, groups, 4, declared=True), NOWHERE, interval=10_000)
    vitals.look(batch, 4)
    vitals.write()
    return {name: curve.value.tolist() for name, curve in vitals.curves().items()}


@pytest.mark.parametrize("ends", [True, False])
def test_rollouts_are_looked_at(tmp_path, ends):
    config = small_config(tmp_path, env="metres", env_args={"ends": ends})
    noted = []
    with assembled(config) as parts:
        kept = SimpleNamespace(t_env=12, note_rollouts=noted.append)
        vitals = Vitals(parts.runner.spec, kept, interval=100)
        vitals.look(parts.collection.take().batch, 6)
        vitals.look(parts.collection.take().batch, 12)
        vitals.write()
        found = {name: curve.value.tolist() for name, curve in vitals.curves().items()}
    # for the page and doctor.py, too
    assert noted == [{name: value for name, (value,) in found.items()}]
    # the closing state, which is filled, is looked at, too: seven observations of each agent
    assert found == {
        "ended": [2], "cut_off": [0 if ends else 2], "obs_largest": [51],
        "obs_outside": [pytest.approx(4 / 14)], "one_legal": [pytest.approx(3 / 7)],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("branches", "shares"),
    [
        ({"actions/0": [1, 2, 1, 1], "actions/1": [2, 1, 1, 3]}, [0.25]),  # legal choices in four steps
        ({"actions/0": [1, 1, 1, 1]}, [1]),
        ({"actions/0": [0, 1, 2, 0]}, [0.5]),  # of an action that is only asked for in two steps
        ({"actions/0": [1, 1, 1, 1], "actions/1": None}, []),  # the other has no mask
    ],
)
def test_a_decision_has_one_legal_choice_if_no_branch_leaves_another(branches, shares):
    fields, arrays = {}, {}
    for action, counts in branches.items():
        fields[action] = FieldSpec("action", (), "int64", n=3)
        if counts:
            mask = action.replace("actions", "avail")
            fields[mask] = FieldSpec("mask", (3,), "uint8", of=action)
            arrays[mask] = th.tensor([[[[int(c < n) for c in range(3)]] for n in counts]], dtype=th.uint8)
    found = looked_at(fields, {"agents": 1}, batch_of(fields, {"agents": 1}, 4, arrays))
    assert found.get("one_legal", []) == shares


@pytest.mark.parametrize("group", ["agents", "red"])
def test_agents_that_are_absent_decide_nothing(group):
    prefix = "" if group == "agents" else f"{group}/"
    action, mask, present = f"{prefix}actions", f"{prefix}avail_actions", f"{prefix}present"
    fields = {
        action: FieldSpec("action", (), "int64", group, n=2),
        mask: FieldSpec("mask", (2,), "uint8", group, of=action),
        present: FieldSpec("mask", (), "bool", group),
    }
    here = th.tensor([[[[1], [1]], [[1], [0]], [[1], [0]], [[1], [0]]]])
    batch = batch_of(fields, {group: 2}, 4, {present: here, mask: th.cat((th.ones_like(here), here), dim=-1)})
    assert looked_at(fields, {group: 2}, batch)["one_legal"] == [0]


def test_so_many_steps_of_an_interval_are_enough(tmp_path):
    with assembled(small_config(tmp_path, env="metres", env_args={})) as parts:
        vitals = Vitals(parts.runner.spec, NOWHERE, interval=10_000)
        batch = parts.collection.take().batch
        for _ in range(ENOUGH):
            vitals.look(batch, 6)
        vitals.write()
        assert vitals.curves()["ended"].value.tolist() == [-(-ENOUGH // 7)]


@pytest.mark.slow
def test_a_run_warns_once_of_what_ails_it(tmp_path, caplog):
    intervals = dict.fromkeys(("log_interval", "learner_log_interval", "runner_log_interval"), 30)
    config = small_config(tmp_path, t_max=180, test_nepisode=1, use_cuda=False, **intervals)
    with caplog.at_level(logging.WARNING, "muster"):
        run({**config, "learner": "detached"}, log=logging.getLogger("muster"))
    (warning,) = (record.getMessage() for record in caplog.records if "gradient" in record.getMessage())
    assert warning.startswith("The gradient is zero: grad_norm was 0 in the last 3 statistics. ")
    assert "\n" not in warning
    caplog.clear()
    run(config, log=logging.getLogger("muster"))
    assert not caplog.records


def test_looks_of_a_long_run_become_rarer(monkeypatch):
    looks = []
    monkeypatch.setattr("experiment.ailments.findings_of", lambda evidence: looks.append(evidence) or [])
    logger, vitals = SimpleNamespace(stats={}), SimpleNamespace(curves=dict)
    ailments = Ailments({}, logger, vitals)
    for summaries in range(1, 10_001):
        ailments.look()
        if summaries == 50:
            assert len(looks) == 50
    assert len(looks) < 500


def test_of_a_large_rollout_some_rows_are_looked_at(tmp_path, monkeypatch):
    """At equal distances, as copies may have maps of their own."""
    monkeypatch.setattr("experiment.vitals.ENOUGH", 21)
    config = small_config(
        tmp_path, env="metres", env_args={}, batch_size_run=12, runner="parallel", vector_env="in_process"
    )
    with assembled(config) as parts:
        batch = parts.collection.take().batch
        batch["obs"][8] = 90.0
        batch["obs"][9:] = 900.0
        vitals = Vitals(parts.runner.spec, NOWHERE, interval=10_000)
        vitals.look(batch, 6)
        vitals.write()
        found = {name: curve.value.tolist() for name, curve in vitals.curves().items()}
    assert (found["ended"], found["obs_largest"]) == ([3], [90])
