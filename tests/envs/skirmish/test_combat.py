"""Fights whose outcome can be worked out by hand."""

import math
from itertools import pairwise

import numpy as np
import pytest
from arena import ARMORED, FIGURES, LIGHT, ally, enemy, field, march, order_attack, play_loop, radius, step

from envs.skirmish.maps import load_data
from envs.skirmish.state import NOBODY

REACHES = {"marine": 5, "marauder": 6, "stalker": 6, "colossus": 7, "hydralisk": 5, "spine_crawler": 7}


def meetings():
    """Every pair (attacker, target) that meets on some map."""
    pairs = set()
    for battle_map in load_data()["maps"].values():
        sides = [{unit for side, unit, *_ in battle_map["groups"] if side == name} for name in ("ally", "enemy")]
        pairs |= {(a, b) for a in sides[0] for b in sides[1]} | {(b, a) for a in sides[0] for b in sides[1]}
    return sorted((a, b) for a, b in pairs if a != "medivac" and (b != "medivac" or a == "marine"))


def one_attack(attacker, target, health, shield):
    """Health and shield after one attack, hit by hit."""
    _, _, _, damage, hits, light, armored, *_ = FIGURES[attacker]
    damage += light * (target in LIGHT) + armored * (target in ARMORED)
    for _ in range(hits):
        through = damage - shield
        shield = max(shield - damage, 0)
        if through > 0:
            health = max(health - max(through - FIGURES[target][2], 0.5), 0)
    return health, shield


def expected_kill(attacker, target):
    """(attacks, game loops from the first to the last): attack k comes in the first whole loop after k periods."""
    health, shield, *_ = FIGURES[target]
    most, regeneration = health, FIGURES[target][9] / 22.4
    period, attacks, loops = FIGURES[attacker][7] * 22.4, 0, 0
    while health > 0:
        if attacks:
            passed, loops = loops, math.ceil(attacks * period - 1e-9)
            for _ in range(loops - passed):
                health = min(health + regeneration, most)
        health, shield = one_attack(attacker, target, health, shield)
        attacks += 1
    return attacks, loops


@pytest.mark.parametrize(("attacker", "target"), meetings())
def test_time_to_kill(attacker, target):
    """Counted in game loops with steps of one loop."""
    gap = REACHES.get(attacker, 0.1) - 0.05
    far = gap + (radius(attacker) + radius(target))
    battles = field([(attacker, 10, 16), ("marine", 1, 1)], [(target, 10 + far, 16), ("marine", 31, 31)], step_mul=1)
    battles.scenario.enemy_order = 0
    j, pair = battles.n_agents, (attacker, target)
    first = last = None
    before = enemy(battles).health + enemy(battles).shield
    for loop in range(4000):
        enemy(battles).target, enemy(battles).cooldown = NOBODY, 1e9  # it does not fight back
        order_attack(battles, 0, j)
        play_loop(battles)
        now = enemy(battles).health + enemy(battles).shield
        if now < before and first is None:
            first = loop
        before, last = now, loop
        if enemy(battles).health <= 0 or ally(battles).health <= 0:
            break
    if attacker == "baneling":  # it has but one attack
        assert ally(battles).health == 0
        assert (enemy(battles).health, enemy(battles).shield) == pytest.approx(one_attack(*pair, *FIGURES[target][:2]))
        return
    assert enemy(battles).health == 0
    _, loops = expected_kill(attacker, target)
    assert last - first == loops


def test_the_rest_of_a_loop_counts_towards_the_next_shot():
    """A marine fires every 13.77 loops: 101 shots take 1,378 loops and not 1,400."""
    battles = field([("marine", 10, 16)], [("spine_crawler", 15, 16), ("marine", 31, 31)], step_mul=1)
    battles.scenario.enemy_order = 0
    shots = []
    for loop in range(1500):
        before = ally(battles).cooldown
        enemy(battles).cooldown, enemy(battles).health = 1e9, 300
        order_attack(battles, 0, battles.n_agents)
        play_loop(battles)
        if ally(battles).cooldown > before:
            shots.append(loop)
    assert shots[100] - shots[0] == math.ceil(100 * 0.6149 * 22.4)
    assert {later - shot for shot, later in pairwise(shots)} == {13, 14}
    # one who stops firing saves nothing up
    ally(battles).order, ally(battles).target = 0, NOBODY
    for _ in range(20):
        play_loop(battles)
    order_attack(battles, 0, battles.n_agents)
    play_loop(battles)
    assert ally(battles).cooldown == pytest.approx(0.6149 * 22.4)


def test_cooldowns_vary_by_minus_one_to_two_loops():
    battles = field([("marine", 10, 16)], [("spine_crawler", 15, 16), ("marine", 31, 31)], jitter=True, step_mul=1)
    battles.scenario.enemy_order = 0
    waits = []
    for _ in range(3000):
        before = ally(battles).cooldown
        enemy(battles).cooldown, enemy(battles).health = 1e9, 300
        order_attack(battles, 0, battles.n_agents)
        play_loop(battles)
        if ally(battles).cooldown > before:
            waits.append(round(ally(battles).cooldown + ally(battles).early - 0.6149 * 22.4))
    shares = np.bincount(np.array(waits) + 1, minlength=4) / len(waits)
    assert set(waits) == {-1, 0, 1, 2}
    assert shares == pytest.approx([0.25] * 4, abs=0.1)


def test_shields_come_back_after_ten_seconds_of_peace():
    """160 loops after the last hit, 2 a second of 16 loops."""
    battles = field([("stalker", 10, 16)], [("marine", 31, 31)], step_mul=1)
    ally(battles).shield, ally(battles).shield_wait = 20, 160
    for loop in range(1, 481):
        play_loop(battles)
        assert ally(battles).shield == pytest.approx(20 + max(loop - 160, 0) * 0.125)
    ally(battles).shield = 79.95
    play_loop(battles)
    assert ally(battles).shield == 80


def test_zerg_wounds_heal_and_others_do_not():
    battles = field([("zergling", 10, 16), ("marine", 20, 16)], [("marine", 31, 31)], step_mul=1)
    ally(battles).health, ally(battles, 1).health = 10, 10
    for _ in range(224):
        play_loop(battles)
    assert ally(battles).health == pytest.approx(13.8)
    assert ally(battles, 1).health == 10


def test_medivacs_heal_nine_a_second_for_a_third_of_that_in_energy():
    """16 loops: 9 health, 3 energy, of which 0.5625 has come back."""
    battles = field([("marauder", 10, 16), ("medivac", 12, 16)], [("marine", 31, 31)], map_name="MMM", step_mul=1)
    ally(battles).health = 20
    order_attack(battles, 1, 0)
    for _ in range(16):
        play_loop(battles)
    assert ally(battles).health == pytest.approx(29)
    assert ally(battles, 1).energy == pytest.approx(50 - 3 + 0.5625)
    ally(battles).health = 124.9
    play_loop(battles)
    assert ally(battles).health == pytest.approx(125)
    ally(battles, 1).energy, ally(battles).health = 0, 20
    order_attack(battles, 1, 0)
    for _ in range(160):
        play_loop(battles)
    assert ally(battles).health == pytest.approx(20 + 10 * 0.5625 * 3, abs=0.2), "what comes back is spent at once"


@pytest.mark.parametrize(("target", "healed"), [("marine", True), ("medivac", False), ("stalker", False)])
def test_only_living_things_on_the_ground_can_be_healed(target, healed):
    battles = field([(target, 10, 16), ("medivac", 12, 16)], [("marine", 31, 31)], map_name="MMM", step_mul=1)
    ally(battles).health = 20
    order_attack(battles, 1, 0)
    play_loop(battles)
    assert (ally(battles).health > 20) == healed


def test_a_baneling_takes_with_it_all_foes_within_its_disc():
    places = [(10.5, 16), (12.15, 16), (12.25, 16), (10, 18.15), (10, 18.25), (8.5, 14.5)]
    hit = [True, True, False, True, False, True]
    enemies = [("marine", x, y) for x, y in places] + [("medivac", 10.2, 15)]
    battles = field([("baneling", 10, 16), ("marine", 10.3, 15)], enemies, step_mul=1)
    for i in range(len(enemies)):
        enemy(battles, i).cooldown = 1e9
    order_attack(battles, 0, battles.n_agents)
    play_loop(battles)
    assert ally(battles).health == 0
    assert ally(battles, 1).health == 45, "friends are spared"
    assert [enemy(battles, i).health < 45 for i in range(6)] == hit
    assert enemy(battles, 6).health == 150, "what flies is out of reach"


@pytest.mark.parametrize(
    ("target", "left"),
    [
        ("marine", (10, 0)),  # 20 and 15 against light
        ("marauder", (106, 0)),  # 20, less armour
        ("baneling", (10, 0)),
        ("zealot", (100, 15)),
        ("spine_crawler", (222, 0)),  # 80 to what is a building, less armour
    ],
)
def test_a_banelings_damage_to_each(target, left):
    battles = field([("baneling", 10, 16), ("marine", 1, 1)], [(target, 11, 16), ("marine", 31, 31)], step_mul=1)
    battles.scenario.enemy_order = 0
    enemy(battles).cooldown = 1e9
    order_attack(battles, 0, battles.n_agents)
    play_loop(battles)
    assert ally(battles).health == 0
    assert (enemy(battles).health, enemy(battles).shield) == left


def test_a_killed_baneling_bursts_and_so_do_those_it_kills():
    """A marine shoots an enemy baneling, whose burst kills an allied one, and its burst another enemy's."""
    allies = [("marine", 10, 16), ("baneling", 16, 16), ("marine", 31, 1)]
    battles = field(allies, [("baneling", 14.5, 16), ("baneling", 17.5, 16), ("zealot", 14.2, 14.5)], step_mul=1)
    battles.scenario.enemy_order = 0
    enemy(battles).health, ally(battles, 1).health, enemy(battles, 1).health = 1, 15, 15
    ally(battles).health = 45
    for i in range(3):
        enemy(battles, i).cooldown = 1e9
    order_attack(battles, 0, battles.n_agents)
    play_loop(battles)
    assert [enemy(battles, 0).health, enemy(battles, 1).health, ally(battles, 1).health] == [0, 0, 0]
    assert (enemy(battles, 2).health, enemy(battles, 2).shield) == (100, 50), "friends are spared"
    assert ally(battles).health == 45, "2.2 away it ends"
    play_loop(battles)
    assert not battles.state.units["bursts"].any()


def test_a_beam_lies_across_the_line_of_fire():
    """2.8 wide and 0.3 deep around the target at (16, 16), fired from (10, 16); marines have a radius of 0.375."""
    places = [(16, 16), (16, 17.7), (16, 17.8), (16.5, 16.8), (16.6, 15), (16, 14.3), (15.5, 15.2)]
    hit = [True, True, False, True, False, True, True]
    battles = field([("colossus", 10, 16), ("marine", 16.1, 15.4)], [("marine", x, y) for x, y in places], step_mul=1)
    for i in range(len(places)):
        enemy(battles, i).cooldown = 1e9
    order_attack(battles, 0, battles.n_agents)
    play_loop(battles)
    assert [enemy(battles, i).health == 45 - 30 for i in range(7)] == hit
    assert ally(battles, 1).health == 45


def test_agents_do_nothing_unasked():
    battles = field([("marine", 10, 16)], [("zealot", 11, 16), ("marine", 31, 31)])
    battles.scenario.enemy_order = 0
    for _ in range(3):
        step(battles, 1)
    assert enemy(battles).health == 100
    assert enemy(battles).shield == 50
    assert ally(battles).health < 45, "who is attacked does not fire back of itself"


def test_an_order_ends_with_its_target():
    battles = field([("marine", 10, 16)], [("zergling", 14, 16), ("marine", 15, 16)])
    battles.scenario.enemy_order = 0
    enemy(battles).health = 1
    enemy(battles, 1).cooldown = 1e9
    step(battles, battles.scenario.first_target)
    assert enemy(battles).health == 0
    assert (ally(battles).order, ally(battles).target) == (0, NOBODY)
    assert enemy(battles, 1).health == 45


def test_an_order_that_cannot_be_carried_out_leaves_the_one_before():
    """SMAC lets marauders choose medivacs, which they cannot hit; the game refuses the order."""
    battles = field([("marauder", 10, 16)], [("medivac", 13, 16), ("marine", 14, 16)], map_name="MMM")
    battles.scenario.enemy_order = 0
    enemy(battles, 1).cooldown = 1e9
    step(battles, 6)
    assert (ally(battles).order, enemy(battles).health) == (0, 150)
    step(battles, 7)
    step(battles, 6)
    assert ally(battles).target == battles.n_agents + 1
    assert enemy(battles).health == 150


@pytest.mark.parametrize(("level", "loops"), [("1", 32), ("2", 24), ("3", 16), ("4", 12), ("5", 8), ("6", 4), ("7", 0)])
def test_lower_difficulties_fire_later(level, loops):
    def first_shot(difficulty):
        battles = field([("marine", 10, 16)], [("marine", 14, 16)], step_mul=1, difficulty=difficulty)
        march(battles, 10, 16)
        for loop in range(50):
            play_loop(battles)
            if ally(battles).health < 45:
                return loop
        return None

    assert first_shot(level) - first_shot("A") == loops
