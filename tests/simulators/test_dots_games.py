"""The rules of the games in simulators/, and that their best returns are what their descriptions say."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "simulators"))

from ball_3d import Plates
from basic import Walkers
from grid_world import MOVES, SIDE, Grids
from soccer import Pitches
from wall_jump import HALF_WALL, Courts


def test_a_ball_that_is_balanced_earns_100():
    plates, returns = Plates(6, 1), np.zeros(6)
    for _ in range(1000):
        tilt = -3 * (0.5 * plates.ball + 0.5 * plates.velocity) - 8 * plates.tilt
        rewards, fallen, cut_off = plates.step(tilt, 9.81)
        assert not fallen.any()
        returns += rewards
    assert cut_off.all() and returns == pytest.approx(np.full(6, 100.0))


def test_a_ball_rolls_down_and_falls():
    plates = Plates(2, 1)
    plates.tilt[:], plates.ball[:] = [[0.0, 0.0], [0.0, 0.0]], 0.0
    ahead = np.array([[1.0, 0.0], [0.0, -1.0]])
    plates.step(ahead, 9.81)
    # one step of 0.1 s: the tilt is 0.07, the speed 0.1 * 5/7 * 9.81 * sin(0.07)
    assert plates.velocity[0] == pytest.approx([0.049009, 0.0], abs=1e-5)
    assert plates.observations()[1] == pytest.approx(
        [0, -0.07, 0, 0.49966, -0.0049009, 0, -0.0034, -0.049009], abs=1e-3
    )
    for _ in range(40):
        rewards, fallen, _ = plates.step(ahead, 9.81)
        if fallen.all():
            break
    assert rewards.tolist() == [-1.0, -1.0]


@pytest.mark.parametrize("move, steps, best", [(2, 7, 0.93), (1, 3, 0.07)])
def test_basic_pays_what_ml_agents_pays(move, steps, best):
    walkers, total = Walkers(1), 0.0
    for step in range(steps):
        rewards, arrived, cut_off = walkers.step(np.array([move]))
        total += rewards[0]
        assert arrived[0] == (step == steps - 1) and not cut_off
    assert total == pytest.approx(best)


def test_who_stays_is_cut_off_after_100_steps():
    walkers = Walkers(1)
    ends = [walkers.step(np.array([0]))[2][0] for _ in range(100)]
    assert ends == [False] * 99 + [True]


def test_a_grids_picture_shows_its_cells_and_masks_its_border():
    grids = Grids(1, 1)
    grids.cells[:] = [[0, SIDE + 1, 24]]
    picture = grids.observations()[0]
    assert picture[:4, :4, 2].sum() == 4 and picture[..., 2].sum() == 4
    assert picture[4:8, 4:8, 1].sum() == 12 and picture[..., 1].sum() == 12
    assert picture[16:, 16:, 0].sum() == 8 and picture[..., 0].sum() == 8
    # stay, up, down, left, right
    assert grids.masks().tolist() == [[False, True, False, True, False]]
    rewards, ended, _ = grids.step(np.array([4]))
    assert (rewards, ended) == (-0.01, False) and grids.cells[0, 0] == 1
    rewards, ended, _ = grids.step(np.array([2]))
    assert rewards == pytest.approx(0.99) and ended
    grids.cells[:] = [[23, 0, 24]]
    rewards, ended, _ = grids.step(np.array([4]))
    assert rewards == pytest.approx(-1.01) and ended
    assert len(MOVES) == 5


@pytest.mark.parametrize("seed", range(3))
def test_grids_begin_with_three_different_cells(seed):
    cells = Grids(200, seed).cells
    assert all(len(set(row)) == 3 for row in cells.tolist())


def test_a_wall_stops_who_does_not_jump():
    courts = Courts(3, 1)
    courts.wall[:] = [1.2, 1.2, 0.0]
    courts.goal[:] = [[3.0, 0.0]] * 3
    courts.place[:] = [[-2.0, 0.0]] * 3
    courts.height[:] = 0.0
    jumps = np.array([0, 1, 0])
    arrived = np.zeros(3, dtype=bool)
    for _ in range(30):
        _, now, _ = courts.step(np.array([[1.0, 0.0]] * 3), jumps)
        arrived |= now
    assert arrived.tolist() == [False, True, True]
    assert courts.place[0, 0] == -HALF_WALL
    assert courts.masks()[0].tolist() == [False, False]


def test_nobody_jumps_in_the_air():
    courts = Courts(1, 1)
    courts.step(np.zeros((1, 2)), np.array([1]))
    assert courts.height > 0 and courts.masks()[0].tolist() == [False, True]
    climbs = []
    for _ in range(12):
        courts.step(np.zeros((1, 2)), np.array([1]))
        climbs.append(float(courts.climb[0]))
    # it falls at 12 m/s2, and jumps again from the ground only
    assert climbs[:4] == pytest.approx([4.8, 3.6, 2.4, 1.2]) and climbs.count(6.0) == 1


def test_what_one_side_of_soccer_gains_the_other_loses():
    pitches, random = Pitches(32, 1), np.random.default_rng(2)
    goals = 0
    for _ in range(300):
        seen = pitches.observations()
        # turned round: what purple sees is what blue would see on a turned pitch
        assert np.array_equal(seen[:, 1, :2], -pitches.players[:, 1] / 4.0)
        rewards, scored, cut_off = pitches.step(random.integers(0, 3, (32, 2, 2)))
        assert np.array_equal(rewards[:, 0], -rewards[:, 1])
        assert (np.abs(rewards[scored == 0]) < 0.5).all() and (np.abs(rewards[scored != 0]) > 0.5).all()
        assert (np.sign(rewards[:, 0])[scored != 0] == scored[scored != 0]).all()
        goals += np.count_nonzero(scored)
        pitches.start(np.flatnonzero((scored != 0) | cut_off))
    assert goals > 5
