"""Cross-play: who plays whose agents, what a cell has, and files of matrices."""

import json

import pytest
import torch as th

from components.episode_buffer import EpisodeBatch
from controllers.mixed_teams import MixedControllers
from envs.contract.fields import EnvSpec, FieldSpec
from experiment.cross_play import Places
from records.cross_play import CSV, JSON, Cell, Estimate, Matrix, Model, read_matrix, write_matrix
from utils.errors import ConfigError

ONE = EnvSpec({"reward": FieldSpec("outcome", (), group=None)}, {"agents": 3}, 5)
TWO = EnvSpec(
    {f"{group}/reward": FieldSpec("outcome", (), group=None) for group in ("red", "blue")}, {"red": 2, "blue": 1}, 5
)
SHARED = EnvSpec({"reward": FieldSpec("outcome", (), group=None)}, {"red": 2, "blue": 1}, 5)


class Constant:
    """PyMARL's contract: its number is the action of every agent; it counts what it was asked."""

    def __init__(self, number):
        self.number, self.hidden_states, self.asked = number, None, 0

    def init_hidden(self, batch_size):
        self.hidden_states = th.zeros(batch_size * 3, 1)

    def select_actions(self, ep_batch, t_ep, t_env, bs=slice(None), test_mode=False):
        self.asked += 1
        return th.full((ep_batch.batch_size, 3), self.number)[bs]


def batch_of(rows=2):
    scheme = {"obs": {"vshape": (1,), "group": "agents"}}
    return EpisodeBatch(scheme, {"agents": 3}, rows, 2)


def test_each_agent_does_what_its_own_controller_says():
    macs = [Constant(k) for k in range(3)]
    mixed = MixedControllers(macs, {"agents": [2, 0, 2]}, ["a", "b", "c"])
    mixed.init_hidden(2)
    assert mixed.decide(batch_of(), 0, 0).actions["actions"].tolist() == [[2, 0, 2], [2, 0, 2]]
    assert mixed.decide(batch_of(), 0, 0, [1]).actions["actions"].tolist() == [[2, 0, 2]]
    assert [mac.asked for mac in macs] == [2, 0, 2]
    assert set(mixed.hidden_states) == {"0", "2"}


def test_a_controller_that_needs_more_than_there_is_is_named():
    class Needy(Constant):
        def select_actions(self, ep_batch, t_ep, t_env, bs=slice(None), test_mode=False):
            return ep_batch["noise"]

    mixed = MixedControllers([Constant(0), Needy(1)], {"agents": [0, 1, 1]}, ["plain", "maven_run"])
    with pytest.raises(ConfigError, match=r"The agents of maven_run cannot play .* The batch has no 'noise'"):
        mixed.decide(batch_of(), 0, 0)


@pytest.mark.parametrize(
    ("spec", "first", "controllers", "opposed"),
    [
        (ONE, None, {"agents": [7, 8, 8]}, False),
        (ONE, 2, {"agents": [7, 7, 8]}, False),
        (TWO, None, {"red": [7, 7], "blue": [8]}, True),
        (SHARED, None, {"red": [7, 7], "blue": [8]}, False),
    ],
)
def test_who_plays_whom(spec, first, controllers, opposed):
    places = Places.of(spec, first)
    assert places.controllers(7, 8) == controllers
    assert places.opposed == opposed


@pytest.mark.parametrize("first", [0, 3])
def test_places_for_nobody_are_refused(first):
    with pytest.raises(ConfigError, match=f"--first={first}: of 3 agents the row's model plays from 1 to 2"):
        Places.of(ONE, first)


def test_one_agent_cannot_cross():
    with pytest.raises(ConfigError, match="needs two agents or more"):
        Places.of(EnvSpec({}, {"agents": 1}, 5), None)


def test_outcomes():
    team, opposed = Places.of(ONE, None), Places.of(TWO, None)
    assert team.outcome({"return": 4}) == (4.0, None, None)
    assert team.outcome({"return": 4, "battle_won": True}) == (4.0, None, 1.0)
    info = {"return": 0, "red/return": -1.0, "blue/return": 1.0}
    assert opposed.outcome(info) == (-1.0, 1.0, 0.0)
    assert opposed.outcome({**info, "red/battle_won": True}) == (-1.0, 1.0, 1.0)
    assert opposed.outcome({**info, "blue/return": -1.0})[2] == 0.5


def matrix_of(models=(("a", "vdn"), ("b", "vdn"), ("c", "qmix"))):
    cells = [
        Cell(row, column, Estimate(float(10 * row + column), 0.5), Estimate(), Estimate(0.25))
        for row in range(len(models))
        for column in range(len(models))
    ]
    known = [Model(token, 100, kind, k) for k, (token, kind) in enumerate(models)]
    return Matrix("lbf", {"key": "x"}, False, (["agent_0"], ["agent_1"]), 8, 3, known, cells)


def test_estimates_by_hand():
    assert Estimate.of([1.0, 2.0, 4.0, 5.0]) == Estimate(3.0, pytest.approx((10 / 3 / 4) ** 0.5))
    assert Estimate.of([2.0]) == Estimate(2.0, None) and Estimate.of([]) == Estimate()


def test_means_by_who_met():
    """Seeds of one algorithm apart from other algorithms: rows 0 and 1 are vdn, row 2 qmix."""
    means = matrix_of().means("returns")
    assert means["self-play"].mean == pytest.approx((0 + 11 + 22) / 3)
    assert means["other seeds of it"].mean == pytest.approx((1 + 10) / 2)
    assert means["other algorithms"].mean == pytest.approx((2 + 12 + 20 + 21) / 4)
    assert means["other seeds of it"].error == pytest.approx(4.5)
    assert "other algorithms" not in matrix_of((("a", "vdn"), ("b", "vdn"))).means("wins")


def test_files_give_back_the_matrix(tmp_path):
    write_matrix(matrix_of(), tmp_path / "new")
    assert read_matrix(tmp_path / "new") == matrix_of()
    lines = (tmp_path / "new" / CSV).read_text().splitlines()
    assert len(lines) == 10 and lines[2] == "a,100,b,100,8,1.0,0.5,,,0.25,"


@pytest.mark.parametrize(
    "damage",
    [
        lambda found: found.pop("models"),
        lambda found: found["cells"].pop(),
        lambda found: found["cells"][0].update(row=7),
        lambda found: found.update(cells=[{"row": 0}]),
        lambda found: found["models"][0].update(step="many"),
        lambda found: found.update(places=3),
    ],
)
def test_damaged_files_are_none(tmp_path, damage):
    write_matrix(matrix_of(), tmp_path)
    found = json.loads((tmp_path / JSON).read_text())
    damage(found)
    (tmp_path / JSON).write_text(json.dumps(found))
    assert read_matrix(tmp_path) is None
    assert read_matrix(tmp_path / "nowhere") is None
