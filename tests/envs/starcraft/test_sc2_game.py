"""The packages' environments on a stand-in for the game: whole episodes, and every way in which a game fails."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import oracle
import pytest

from envs import REGISTRY
from envs.skirmish.maps import load_map
from envs.skirmish.terrain import load_terrain
from sc2_stand_in import CHECKOUT, FAKE, needs_game, play
from utils.errors import MusterError

pytestmark = needs_game

MAPS = ["3m", "8m", "2s3z", "MMM"]


@pytest.fixture
def make(game):
    """Environments that are closed at the end of the test."""
    made = []

    def make(name="sc2", **env_args):
        made.append(REGISTRY[name](**{"seed": 1, "game_timeout": 5, **env_args}))
        return made[-1]

    yield make
    for env in made:
        env.close()


@pytest.fixture(scope="module")
def facts():
    return json.loads((FAKE.parent / "smac_facts.json").read_text())["maps"]


@pytest.mark.parametrize("name", MAPS)
def test_whole_episodes(make, facts, name):
    env = make(map_name=name)
    played = play(env, 6, np.random.default_rng(0))
    assert env._smac.max_reward == pytest.approx(facts[name]["max_reward_unscaled"])
    assert all({"battle_won", "dead_allies", "dead_enemies"} <= set(info) for _, _, info in played)
    stats = env.get_stats()
    assert stats["battles_game"] == 6
    assert stats["battles_won"] == sum(info["battle_won"] for _, _, info in played)
    assert stats["timeouts"] == sum(
        steps == env.episode_limit and not info["battle_won"] and info["dead_allies"] < env.n_agents
        for steps, _, info in played
    )


@pytest.mark.parametrize(
    ("outcome", "args", "won", "timeouts"),
    [
        ("win", {"heuristic_ai": True}, 2, 0),
        ("lose", {"heuristic_ai": True}, 0, 0),
        ("mixed", {"step_mul": 1, "continuing_episode": True}, 0, 2),
    ],
)
def test_wins_losses_and_time_outs(game, make, outcome, args, won, timeouts):
    game.setenv("FAKE_SC2_OUTCOME", outcome)
    env = make(map_name="3m", **args)
    infos = [info for _, _, info in play(env, 2, np.random.default_rng(0))]
    assert sum(info["battle_won"] for info in infos) == won
    assert sum(info.get("episode_limit", False) for info in infos) == timeouts
    stats = env.get_stats()
    assert (stats["battles_game"], stats["battles_won"], stats["timeouts"]) == (2, won, timeouts)


@pytest.mark.parametrize("at", [5, 60])
@pytest.mark.parametrize("fault", ["CRASH", "ERROR"])
def test_a_crash_is_a_truncated_episode_and_the_rewards_stay_as_they_are(game, make, facts, fault, at):
    """In the first episode (the fifth step), and in a later one."""
    game.setenv(f"FAKE_SC2_{fault}_AT", str(at))
    env = make(map_name="3m")
    assert env.get_stats()["win_rate"] == 0
    played = play(env, 5, np.random.default_rng(0))
    crashed = [info for _, _, info in played if info.get("crashed")]
    assert crashed == [{"crashed": True, "episode_limit": True}]
    assert played[0][2].get("crashed", False) == (at == 5)
    assert env._smac.max_reward == pytest.approx(facts["3m"]["max_reward_unscaled"])
    assert env.get_stats()["restarts"] == 1
    assert env.get_stats()["battles_game"] == 4


def test_a_game_that_hangs_has_crashed(game, make, caplog):
    game.setenv("FAKE_SC2_HANG_AT", "30")
    env = make(map_name="3m", game_timeout=2)
    start = time.time()
    assert sum(info.get("crashed", False) for _, _, info in play(env, 3, np.random.default_rng(0))) == 1
    assert time.time() - start < 30
    assert "it hangs: no reply for 2 seconds" in caplog.text


def test_a_game_that_always_crashes_stops_the_run(game, make):
    game.setenv("FAKE_SC2_CRASH_AT", "3")
    game.delenv("FAKE_SC2_FAULT_ONCE")
    env = make(map_name="3m", max_restarts=2)
    with pytest.raises(
        MusterError, match=r"crashed on 3m, 3 in a row \(env_args.max_restarts=2\): no connection .*closed"
    ):
        play(env, 10, np.random.default_rng(0))


def test_replays_are_saved(make, tmp_path):
    env = make(map_name="3m", replay_dir=str(tmp_path), replay_prefix="mine")
    with pytest.raises(NotImplementedError, match="no game is running"):
        env.save_replay()
    play(env, 1, np.random.default_rng(0))
    env.save_replay()
    assert [path.suffix for path in tmp_path.glob("mine*")] == [".SC2Replay"]


def run_python(code, **options):
    """smac and smacv2 declare maps of the same names, so a process can have only one of them."""
    path = os.pathsep.join([str(CHECKOUT / "src"), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, **options
    )


SMACV2 = """
import json, sys, yaml
import numpy as np
from envs import REGISTRY
from sc2_stand_in import play
args = yaml.safe_load(open("config/envs/sc2_v2_terran.yaml"))["env_args"] | {"seed": 3}
env = REGISTRY["sc2_v2"](**args)
played = play(env, 4, np.random.default_rng(0))
teams = sorted(unit.unit_type for unit in env.agents.values())
print(json.dumps([[[steps, total] for steps, total, _ in played], teams, env._smac.max_reward, env.get_stats()]))
env.close()
"""


def test_smacv2_plays_and_draws_its_teams_from_the_seed(game):
    runs = [run_python(SMACV2, cwd=CHECKOUT) for _ in range(2)]
    assert [done.returncode for done in runs] == [0, 0], runs[0].stderr
    first, second = (json.loads(done.stdout.splitlines()[-1]) for done in runs)
    assert first == second
    assert first[3]["battles_game"] == 4


RUN = "--env-config=sc2 with env_args.map_name=3m env_args.game_timeout=5 seed=1 test_nepisode=3 batch_size=4 "
RUN += "test_interval=400 log_interval=400 runner_log_interval=400 learner_log_interval=400 use_cuda=False"


def train(tmp_path, words):
    command = [sys.executable, "src/main.py", *words.split(), f"local_results_path={tmp_path}"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    newest = max((tmp_path / "sacred").glob("[0-9]*"), key=lambda path: int(path.name), default=None)
    return done, json.loads((newest / "info.json").read_text()) if newest else {}


@pytest.mark.parametrize("runner", ["episode", "parallel"])
@pytest.mark.parametrize("scenario", [*(f"sc2 with env_args.map_name={name}" for name in MAPS), "sc2_v2_terran with"])
def test_both_runners_play_every_scenario(game, tmp_path, scenario, runner):
    games = 1 if runner == "episode" else 2
    words = f"--config=qmix_smac --env-config={scenario} runner={runner} batch_size_run={games} seed=1 t_max=150"
    words += " test_nepisode=2 batch_size=2 buffer_size=8 test_interval=100 runner_log_interval=50 use_cuda=False"
    done, info = train(tmp_path, words)
    assert done.returncode == 0, done.stdout + done.stderr
    for prefix in ("", "test_"):
        assert {f"{prefix}{key}_mean" for key in ("battle_won", "dead_allies", "dead_enemies", "return")} <= set(info)


def test_two_games_at_once_and_a_crash_in_one_of_them(game, tmp_path):
    game.setenv("FAKE_SC2_CRASH_AT", "40")
    done, info = train(tmp_path, f"--config=qmix_smac {RUN} runner=parallel batch_size_run=2 t_max=800")
    assert done.returncode == 0, done.stdout + done.stderr
    assert info["crashed_episodes"][-1] == 1
    assert all(0 <= share <= 1 for share in info["battle_won_mean"] + info["test_battle_won_mean"])
    assert all(0 <= dead <= 3 for dead in info["dead_allies_mean"])


def test_training_ends_with_a_model_that_can_be_evaluated_and_a_replay(game, tmp_path):
    done, info = train(tmp_path, f"--config=qmix_smac {RUN} t_max=2000 save_model=True")
    assert done.returncode == 0, done.stdout + done.stderr
    assert info["test_return_mean_T"][-1] >= 2000
    (model,) = (tmp_path / "models").iterdir()
    again = f"--config=qmix_smac {RUN} checkpoint_path={model} evaluate=True save_replay=True"
    done, info = train(tmp_path, again)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_battle_won_mean" in info
    assert len(list((tmp_path / "replays").glob("*/*.SC2Replay"))) == 1


OPTIONS = {"obs_last_action": True, "obs_pathing_grid": True, "obs_terrain_height": True, "state_timestep_number": True}


@pytest.mark.parametrize("options", [{}, OPTIONS], ids=["defaults", "options"])
@pytest.mark.parametrize("name", MAPS)
def test_skirmishs_oracle_agrees_with_smac(make, name, options):
    """Observations, state and legal actions of the same units, to the last bit."""
    env, battle_map = make(map_name=name, **options), load_map(name)
    smac, terrain = env._smac, load_terrain(battle_map.terrain)
    env.reset()
    defaults = {key: getattr(smac, key) for key in dir(smac) if key.startswith(("obs_", "state_", "reward_"))}
    c = oracle.Contract(
        battle_map.map_type,
        battle_map.ally_race,
        battle_map.enemy_race,
        battle_map.unit_type_bits,
        battle_map.type_order,
        smac.n_agents,
        smac.n_enemies,
        smac.episode_limit,
        smac.pathing_grid.astype(int),
        smac.terrain_height,
        {**defaults, "move_amount": smac._move_amount, "fix_quirks": False},
        False,
    )
    assert (smac.pathing_grid == terrain.open.astype(bool)).all()
    rng, compared = np.random.default_rng(2), 0
    for _ in range(60):
        now = moment(smac, c)
        for i in range(c.n_agents):
            assert env.get_avail_agent_actions(i) == oracle.avail_actions(c, now, i)
            np.testing.assert_array_equal(env.get_obs_agent(i), oracle.observation(c, now, i))
        np.testing.assert_array_equal(env.get_state(), oracle.state(c, now))
        compared += 1
        legal = np.array(env.get_avail_actions())
        _, ended, _ = env.step((rng.random(legal.shape) * legal).argmax(-1))
        if ended:
            env.reset()
    assert compared == 60


ENEMY_TYPES = {48: "marine", 51: "marauder", 54: "medivac", 73: "zealot", 74: "stalker", 4: "colossus"}


def moment(smac, c):
    """smac's units as the oracle takes them."""
    own = {getattr(smac, f"{name}_id"): name for name in set(ENEMY_TYPES.values()) if getattr(smac, f"{name}_id", 0)}

    def unit(found, types):
        kind = types[found.unit_type]
        return oracle.Unit(
            kind, found.pos.x, found.pos.y, found.health, found.shield, found.energy, found.weapon_cooldown
        )

    actions = [int(row.argmax()) if row.any() else -1 for row in np.asarray(smac.last_action)]
    return oracle.Moment(
        [unit(smac.agents[i], own) for i in range(c.n_agents)],
        [unit(smac.enemies[e], ENEMY_TYPES) for e in range(c.n_enemies)],
        actions,
        smac._episode_steps,
    )
