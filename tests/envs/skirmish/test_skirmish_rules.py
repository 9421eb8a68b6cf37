"""The version of the rules, and the rules that `benchmarks/skirmish_rules.py` tries."""

import ast
import sys

import numpy as np
import pytest
from arena import ally, enemy, field, march, order_attack, play_loop

from cli.compose import compose_config
from envs.skirmish.batch import BatchedSkirmish
from envs.skirmish.options import RULES, Options
from envs.skirmish.state import MOVE
from standins import ROOT
from utils.config.renamed_keys import with_new_names
from utils.errors import ConfigError

# version -> map -> of 32 battles of SMAC's scripted player with the seed 0: won, mean return, mean length
BY_RULES = {
    1: {
        "3m": (17, 14.2414, 27.0625),
        "2s3z": (32, 20.0, 49.4062),
        "MMM": (0, 7.4864, 36.7812),
        "bane_vs_bane": (16, 18.1229, 19.8438),
        "2c_vs_64zg": (0, 13.4831, 41.6562),
        "10gen_terran": (22, 16.8691, 36.6562),
    },
    2: {
        "3m": (17, 14.2414, 27.0625),
        "2s3z": (32, 20.0, 46.5),
        "MMM": (0, 7.4205, 36.5938),
        "bane_vs_bane": (16, 18.0209, 20.1875),
        "2c_vs_64zg": (0, 13.0538, 41.4375),
        "10gen_terran": (23, 17.1794, 37.0312),
    },
}


@pytest.fixture
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield
    for name in ("heuristic_ai", "skirmish_rules"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("rules", "name"), [(rules, name) for rules in RULES for name in BY_RULES[rules]])
def test_other_battles_need_another_version(rules, name, benchmarks):
    """Who changes the simulated battles adds to `RULES`, and writes figures here and a line into the fidelity page."""
    from heuristic_ai import play

    battles = BatchedSkirmish(32, map_name=name, seed=0, heuristic_ai=True, rules=rules)
    won, mean_return, length = play(battles)
    expected = BY_RULES[rules][name]
    assert (round(won * 32), round(mean_return, 4), round(length, 4)) == expected


@pytest.mark.parametrize(
    "name", ["skirmish", "skirmish_maps", "skirmish_v2_protoss", "skirmish_v2_terran", "skirmish_v2_zerg"]
)
def test_every_run_records_the_version(name):
    assert compose_config("iql", name).config["env_args"]["rules"] == RULES[-1]


def test_other_versions_are_refused():
    with pytest.raises(ConfigError, match=r"env_args\.rules is 99; this version of Skirmish has rules 1 and 2"):
        Options(rules=99)


def test_runs_from_before_the_versions_are_played_by_the_first():
    before = {"env": "skirmish", "env_args": {"map_name": "3m"}}
    assert with_new_names(before, recorded=True)["env_args"] == {"map_name": "3m", "rules": 1}
    assert before["env_args"] == {"map_name": "3m"}
    for config in (before | {"env": "lbf"}, {"env": "skirmish"}, {"env": "skirmish", "env_args": {"rules": 2}}):
        assert with_new_names(config, recorded=True) == config
    assert with_new_names(before) == before


def chosen(battles):
    """Which agent the first enemy has for a target after a loop."""
    play_loop(battles)
    return int(enemy(battles).target)


MOVES = np.array([(0, 1), (0, -1), (1, 0), (-1, 0)])  # actions 2 to 5
# the zealot's weapon reaches 0.1, and it looks 5 far; the marines are 0.875 wider from centre to centre
NEAR, FAR = ("marine", 17, 16), ("marine", 11, 16)


@pytest.mark.parametrize(
    ("rules", "near_attacks", "far_attacks", "target"),
    [(1, False, True, 0), (1, True, False, 0), (2, False, True, 1), (2, True, True, 0), (2, False, False, 0)],
)
def test_by_rules_2_those_that_attack_are_chased_first(rules, near_attacks, far_attacks, target):
    battles = field([NEAR, FAR], [("zealot", 14.5, 16)], rules=rules)
    march(battles, 14.5, 16)
    for i, attacks in enumerate((near_attacks, far_attacks)):
        ally(battles, i).cooldown = 1e9
        if attacks:
            order_attack(battles, i, battles.n_agents)
    assert chosen(battles) == target


@pytest.mark.parametrize(("rules", "target"), [(1, 0), (2, 1)])
def test_by_rules_2_a_target_in_range_is_left_for_one_that_attacks(rules, target):
    """The alternating fire of 2s_vs_1sc: a stalker that only walks loses the spine crawler's attention."""
    battles = field([("stalker", 13, 16), ("stalker", 10, 17)], [("spine_crawler", 16, 16)], rules=rules)
    march(battles, 16, 16)
    for i in range(2):
        order_attack(battles, i, battles.n_agents)
    assert chosen(battles) == 0
    assert chosen(battles) == 0
    ally(battles).order = MOVE
    assert chosen(battles) == target
    order_attack(battles, 0, battles.n_agents)
    assert chosen(battles) == target, "both attack, so the target is kept"


@pytest.mark.parametrize(("rules", "target"), [(1, 0), (2, 1)])
def test_by_rules_2_a_unit_that_chases_answers_who_hurts_it(rules, target):
    """The alternating fire of 2m_vs_1z: the zealot turns from the marine that it follows to the one that hits it."""
    battles = field([NEAR, FAR], [("zealot", 14.5, 16)], rules=rules)
    march(battles, 14.5, 16)
    ally(battles).cooldown = 1e9
    for i in range(2):
        order_attack(battles, i, battles.n_agents)
    assert chosen(battles) == 0, "nobody has hurt it before it chooses"
    assert enemy(battles).attacker == 1
    assert chosen(battles) == target


@pytest.mark.parametrize("rules", RULES)
def test_a_target_in_range_is_not_left_for_one_out_of_range(rules):
    battles = field([("marine", 15.4, 16), FAR], [("zealot", 14.5, 16)], rules=rules)
    march(battles, 14.5, 16)
    assert chosen(battles) == 0
    order_attack(battles, 1, battles.n_agents)
    for _ in range(2):
        assert chosen(battles) == 0
    assert enemy(battles).attacker == 1


def alternating_fire(battles, k):
    """Of battle k: the marine whom the zealot follows walks away when it is near, and the other one fires."""
    units, n = battles.state.units[k], battles.n_agents
    foe, row = units[n], np.zeros(n, dtype=np.int64)
    for i in np.flatnonzero(units["health"][:n]):
        legal = battles.outputs.avail_actions[k, i]
        apart = np.array([units[i].x - foe.x, units[i].y - foe.y])
        chased = foe.target == i and np.hypot(*apart) < 3
        if not chased and legal[6]:
            row[i] = 6
        else:
            far = MOVES @ apart if chased else -(MOVES @ apart)
            row[i] = 2 + np.where(legal[2:6] == 1, far, -np.inf).argmax()
    return row


@pytest.mark.parametrize(("rules", "least", "most"), [(1, 0.0, 0.1), (2, 0.9, 1.0)])
def test_alternating_fire_wins_2m_vs_1z_by_rules_2(rules, least, most):
    """SMAC's documentation names the trick by which this map is won (docs/skirmish_fidelity.md)."""
    battles = BatchedSkirmish(32, map_name="2m_vs_1z", seed=0, rules=rules)
    battles.reset()
    while (battles.state.battle["ended"] == 0).any():
        battles.step(np.array([alternating_fire(battles, k) for k in range(32)]))
    assert least <= battles.state.battle["won"].mean() <= most


def test_the_rules_that_are_tried_fit_the_simulator(benchmarks):
    from skirmish_rules import RULES as TRIED
    from skirmish_rules import changed

    for name, (what, changes) in TRIED.items():
        texts = changed(name)
        assert bool(what) == bool(changes) == bool(texts)
        for text in texts.values():
            ast.parse(text)
