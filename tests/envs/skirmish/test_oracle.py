"""The kernel's observations, state, legal actions, rewards and ends, against the oracle's, on random battles."""

from dataclasses import asdict

import numpy as np
import oracle
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envs.skirmish.batch import BatchedSkirmish
from envs.skirmish.kernel.entry import write_views
from envs.skirmish.maps import load_map, map_names
from envs.skirmish.options import published_capabilities
from envs.skirmish.state import GRANTED, MASKED
from envs.skirmish.terrain import load_terrain
from envs.skirmish.unit_types import TYPE_INDEX, UNIT_TYPES

pytestmark = pytest.mark.slow

FLAGS = ["obs_all_health", "obs_own_health", "obs_last_action", "obs_pathing_grid", "obs_terrain_height"]
FLAGS += ["obs_timestep_number", "state_last_action", "state_timestep_number", "fix_quirks"]
V2_FLAGS = ["obs_own_pos", "conic_fov", "use_unit_ranges", "fully_observable", "action_mask", "obs_starcraft"]


@st.composite
def arguments(draw, name):
    """A constructor's arguments: every switch either way."""
    args = {flag: draw(st.booleans()) for flag in FLAGS}
    args["obs_instead_of_state"] = draw(st.integers(0, 4)) == 0
    args["move_amount"] = draw(st.sampled_from([1, 2, 3]))
    if name.startswith("10gen"):
        args |= {flag: draw(st.booleans()) for flag in V2_FLAGS}
        args["num_fov_actions"] = draw(st.sampled_from([3, 8, 12]))
        args["capability_config"] = draw(capabilities(load_map(name).ally_race))
    return args | {"map_name": name, "seed": draw(st.integers(0, 1000))}


@st.composite
def capabilities(draw, race):
    config = published_capabilities(race, draw(st.integers(1, 6)), draw(st.integers(1, 6)))
    config["team_gen"]["observe"] = draw(st.booleans())
    for name in ("attack", "health"):
        if draw(st.booleans()):
            bounds = {"lower_bound": [0.1], "upper_bound": [0.6], "observe": draw(st.booleans())}
            config[name] = {"dist_type": "per_agent_uniform", **bounds}
    if draw(st.booleans()):
        config["enemy_mask"] = {"dist_type": "mask", "mask_probability": 0.5}
    return config


def contract(battles):
    options = asdict(battles.options)
    battle_map, terrain = battles.map, load_terrain(battles.map.terrain)
    return oracle.Contract(
        battle_map.map_type,
        battle_map.ally_race,
        battle_map.enemy_race,
        battle_map.unit_type_bits,
        battle_map.type_order,
        battles.n_agents,
        battles.n_enemies,
        battle_map.episode_limit,
        terrain.open,
        terrain.height,
        options,
        battle_map.smacv2,
    )


def moment(battles):
    """The (only) battle as the oracle needs it."""
    units, n = battles.state.units[0], battles.n_agents
    team = [
        oracle.Unit(
            UNIT_TYPES[u.kind].name, *(float(u[f]) for f in ("x", "y", "health", "shield", "energy", "cooldown"))
        )
        for u in units
    ]
    vision = battles.state.vision[0]
    return oracle.Moment(
        team[:n],
        team[n:],
        units["last_action"][:n].tolist(),
        int(battles.state.battle[0].step),
        list(zip(units["fov_x"][:n].tolist(), units["fov_y"][:n].tolist(), strict=True)),
        vision & GRANTED > 0,
        vision & MASKED > 0,
        units["attack_probability"][:n].tolist(),
        units["health_level"][:n].tolist(),
    )


def scatter(battles, rng):
    """Any constellation: places, often exactly at the limits of sight and reach, wounds, deaths, cooldowns, actions."""
    units, n = battles.state.units[0], battles.n_agents
    centre = rng.integers(0, 33 * 16, 2) / 16
    for i, unit in enumerate(units):
        kind = UNIT_TYPES[unit.kind]
        far = rng.choice([1, 2, 5, 6, 9, 10, 16])
        offset = (far, 0) if rng.random() < 0.3 else rng.integers(-far * 4096, far * 4096 + 1, 2) / 4096
        unit.x, unit.y = np.clip(np.add(centre, rng.permutation(offset)), 1 / 4096, 32 - 1 / 4096)
        if i and rng.random() < 0.1:  # exactly upon another
            unit.x, unit.y = units[i - 1].x, units[i - 1].y
        unit.health = rng.choice([0, kind.health, rng.uniform(0.5, kind.health)], p=[0.2, 0.3, 0.5])
        unit.shield = rng.choice([0, kind.shield, rng.uniform(0, kind.shield)]) if unit.health else 0
        unit.energy, unit.cooldown = rng.uniform(0, max(kind.energy, 0.0)), rng.uniform(0, 30)
        if i < n:
            unit.last_action = rng.integers(-1, battles.n_actions)
            angle = rng.uniform(-np.pi, np.pi)
            unit.fov_x, unit.fov_y = np.cos(angle), np.sin(angle)
    battles.state.battle[0].step = rng.integers(0, battles.episode_limit)
    # who has been granted what so far; whoever is seen now by anybody is granted to all, or to some
    battles.state.vision[0] = rng.integers(0, 4, battles.state.vision[0].shape)
    units["spotted"][n:] = (battles.state.vision[0] & GRANTED).any(axis=0)


def compare_view(battles, c):
    now = moment(battles)
    outputs = battles.outputs
    for i in range(c.n_agents):
        assert outputs.avail_actions[0, i].tolist() == oracle.avail_actions(c, now, i)
        np.testing.assert_allclose(outputs.obs[0, i], oracle.observation(c, now, i), rtol=2e-7, atol=1e-9)
    np.testing.assert_allclose(outputs.state[0], oracle.state(c, now), rtol=2e-7, atol=1e-9)


EXAMPLES = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", map_names())
def test_views_are_the_contracts(name):
    @EXAMPLES
    @given(arguments(name), st.integers(0, 2**32 - 1))
    def check(args, seed):
        battles = BatchedSkirmish(1, **args)
        battles.reset()
        c = contract(battles)
        compare_view(battles, c)
        rng = np.random.default_rng(seed)
        for _ in range(3):
            scatter(battles, rng)
            write_views(battles.state, np.ones(1, bool), battles.outputs, battles.game)
            compare_view(battles, c)

    check()


@pytest.mark.parametrize("name", map_names())
def test_steps_pay_and_end_as_the_contract_says(name):
    @EXAMPLES
    @given(
        arguments(name),
        st.integers(0, 2**32 - 1),
        st.booleans(),
        st.booleans(),
        st.sampled_from([0, 3, 10]),
        st.sampled_from([0, -5]),
    )
    def check(args, seed, sparse, positive, death_value, defeat):
        args |= {"reward_sparse": sparse, "reward_death_value": death_value, "reward_defeat": defeat}
        args["reward_only_positive"] = positive or "health" in args.get("capability_config", {})
        battles = BatchedSkirmish(1, **args)
        outputs, rng = battles.reset(), np.random.default_rng(seed)
        c, ended = contract(battles), False
        enemies = moment(battles).enemies
        most = c.reward_win + sum(unit.health + unit.shield + death_value for unit in enemies)
        if rng.random() < 0.7:  # not far from an end
            battles.state.units[0]["health"] *= rng.random(len(battles.state.units[0])) < 0.4
            battles.state.units[0]["health"] *= 0.3
            if oracle.battle_end(c, moment(battles)) is not None:
                return
            write_views(battles.state, np.ones(1, bool), outputs, battles.game)
        for _ in range(15):
            before = moment(battles)
            legal = outputs.avail_actions[0]
            actions = (rng.random(legal.shape) * legal).argmax(-1)
            battles.step(actions[None])
            after = moment(battles)
            ended = oracle.battle_end(c, after)
            assert outputs.reward[0] == pytest.approx(oracle.reward(c, before, after, most), rel=1e-9, abs=1e-9)
            assert bool(outputs.battle_won[0]) == (ended == 1)
            assert outputs.dead_allies[0] == sum(not unit.alive for unit in after.allies)
            assert outputs.dead_enemies[0] == sum(not unit.alive for unit in after.enemies)
            assert after.last_actions == actions.tolist()
            assert after.step == before.step + 1
            time_up = ended is None and after.step >= c.episode_limit
            assert bool(outputs.truncated[0]) == time_up
            assert bool(outputs.terminated[0]) == (ended is not None or time_up)
            compare_view(battles, c)
            if outputs.terminated[0]:
                break

    check()


def test_every_type_of_the_oracle_is_known():
    assert set(oracle.HEALTH) == set(TYPE_INDEX)
