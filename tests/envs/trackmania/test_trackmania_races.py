"""Races against the stand-in: what is sent when, how they begin and end, what they are worth."""

import time

import numpy as np
import pytest

from envs.racing.state import INPUTS
from envs.trackmania.environment import TrackManiaEnv
from envs.trackmania.messages import encoded
from waiting import comes_true

pytestmark = pytest.mark.slow

NOTHING, FORWARD, LEFT = 3, 0, 1


def step(env, action=FORWARD):
    return env.step({"actions": np.array([action])})


def race(env, action=FORWARD, most=400):
    """Drive until the race ends; returns rewards and the last step's (terminated, truncated, info)."""
    rewards = []
    for _ in range(most):
        outcomes, *ends, info = step(env, action)
        rewards.append(float(outcomes["reward"]))
        if any(ends):
            return rewards, (*ends, info)
    raise AssertionError("the race does not end")


def transcript(game, before):
    """(who, bytes) of the messages since; replies and pixels only by their lengths."""
    long = ("reply", "frame")
    return [(who, len(raw) if name in long else raw) for who, name, raw in game.log[before:]]


def ends_with(game, name):
    """Whether this is the last message; the game reads what needs no answer a little later."""
    return comes_true(lambda: game.names()[-1] == name, 2)


def command(*message):
    return ("C", encoded(*message))


STATE = 8356 + 4 + 8 + 4  # one checkpoint, and the length in front


def test_a_step_without_pictures_byte_for_byte(stand_in, make_env):
    game = stand_in()
    env = make_env(game)
    env.reset()
    before = len(game.log)
    step(env, 10)
    assert transcript(game, before) == [
        command("rewind_in_place"),
        command("set_inputs", 1, 0, 1, 1),
        command("set_speed", 80.0),
        ("C", b"\1\0\0\0"),
        ("S", encoded("run_step", 50)),
        command("get_state"),
        ("S", STATE),
    ]


def test_a_step_with_pictures_byte_for_byte(stand_in, make_env):
    game = stand_in()
    env = make_env(game, view="both", frame_width=160, frame_height=120)
    env.reset()
    step(env)
    before = len(game.log)
    step(env, 2)
    assert transcript(game, before) == [
        command("set_inputs", 0, 1, 1, 0),
        command("set_speed", 80.0),
        ("C", b"\4\0\0\0"),
        ("S", encoded("run_step", 100)),
        command("get_state"),
        ("S", STATE),
        command("rewind_in_place"),
        command("set_speed", 0.0),
        command("request_frame", 160, 120),
        ("C", b"\1\0\0\0"),
        ("S", 4 + 160 * 120 * 4),
    ]


def test_what_a_game_is_told_first(stand_in, make_env):
    game = stand_in()
    make_env(game, user="me", speed=40, countdown_speed=33.0, turn_timeout=7.0).reset()
    log = [(who, raw) for who, _, raw in game.log]
    first = log[: log.index(("C", b"\5\0\0\0"))]
    assert first == [
        ("S", encoded("connected")),
        command("set_speed", 1.0),
        command("cancel_frame"),
        command("set_step_period", 50),
        command("execute", "set countdown_speed 33"),
        command("execute", "set unfocused_fps_limit false"),
        command("execute", "set skip_map_load_screens true"),
        command("execute", "set disable_forced_camera true"),
        command("execute", "set autorewind false"),
        command("execute", "set auto_reload_plugins false"),
        command("execute", "set autologin me"),
        command("execute", 'map "A"'),
    ]
    assert log[len(first) + 1 :][:5] == [
        ("S", encoded("run_step", -2600)),
        command("set_timeout", 7000),
        command("execute", "cam 2"),
        command("toggle_interface", 0),
        ("C", b"\1\0\0\0"),
    ]


def test_a_game_with_another_race_open_loads_the_map(stand_in, make_env):
    game = stand_in(("other", "A"), menus=False)
    env = make_env(game)
    env.reset()
    assert (game.loaded, game.time) == ("A", 0)
    assert step(env)[3] == {"map": "A"}


@pytest.mark.parametrize("view", ["float", "both"])
def test_three_races_with_the_held_echo_between_them(stand_in, make_env, view):
    game = stand_in()
    env = make_env(game, view=view)
    results = []
    for number in range(3):
        before = len(game.log)
        env.reset()
        begun = [name for _, name, _ in game.log[before:]]
        if number:  # the turn of the finish is echoed only now, and the start state rewound to
            start = ["set_speed", "set_timeout", "echo", "run_step", "rewind", "set_inputs", "get_state", "reply"]
            assert begun[:8] == start
        results.append(race(env))
        assert ends_with(game, "set_timeout")
    assert "give_up" not in game.names() and len(set(map(str, results))) == 1
    rewards, (terminated, truncated, info) = results[0]
    assert (terminated, truncated) == (True, False)
    assert info["end_race_stats"]["cp_time_ms"] == [info["race_time"]]
    # -6/5000 a millisecond, 5/500 a metre: the line is 59.5 m long
    assert sum(rewards) == pytest.approx(-0.0012 * info["race_time"] + 0.01 * 59.5, abs=1e-6)
    assert len(rewards) == -(-info["race_time"] // 50)
    assert info["distance"] == pytest.approx(59.5, abs=1e-3)
    assert env.observe()["current_zone_idx"] == env.observe()["furthest_zone_idx"] == 20 + 119


def test_the_game_waits_between_races(stand_in, make_env):
    game = stand_in()
    env = make_env(game, turn_timeout=1.0)
    env.reset()
    race(env)
    time.sleep(1.3)
    assert (game.expired, game.timeout) == (0, 600_000_000)
    env.reset()
    assert game.timeout == 1000
    time.sleep(1.3)  # during a race it does not
    assert game.expired == 1


def test_maps_change_and_keep_their_start_states(stand_in, make_env):
    game = stand_in(("A", "B é"))
    env = make_env(game, ("A", "A", "B é"))
    loads = []
    for _ in range(6):
        before = len(game.commands)
        env.reset()
        loads.append(game.commands[before:][-1:] if before else ["first"])
        assert step(env)[3] == {"map": env._map.name}
    assert loads == [["first"], [], ['map "B é"'], ['map "A"'], [], ['map "B é"']]
    assert game.names("C").count("give_up") == 0  # a loaded map begins with its countdown
    assert game.names("C").count("toggle_interface") == 4
    assert game.unknown == 0


def test_a_race_that_makes_no_progress_is_cut_off(stand_in, make_env):
    game = stand_in()
    env = make_env(game, cut_off_seconds=0.5)
    env.reset()
    rewards, (terminated, truncated, info) = race(env, NOTHING)
    assert (terminated, truncated, len(rewards)) == (False, True, 10)
    assert info["end_race_stats"] == {
        "race_finished": False,
        "race_time": 500,
        "race_time_for_ratio": 500,
        "cp_time_ms": [],
    }
    assert "race_time" not in info and info["race_finished"] == 0
    assert ends_with(game, "set_timeout")
    env.reset()
    assert len(race(env)[0]) > 50


def test_races_by_linesights_rules(stand_in, make_env):
    """The finish is entered a zone and 0.75 m later, and speed is paid where it is gained."""
    env = make_env(
        stand_in(),
        finish_entry="beyond",
        final_speed="gain",
        line_ends="step",
        zone_back="reach",
        final_speed_reward_per_m_per_s=1.0,
        constant_reward_per_ms=0.0,
        reward_per_m_advanced_along_centerline=0.0,
    )
    env.reset()
    rewards, (terminated, *_) = race(env)
    seen = env.observe()
    assert terminated and seen["current_zone_idx"] == 20 + 120
    assert env._back_reach == pytest.approx(45, abs=0.01)
    assert seen["meters_advanced_along_centerline"] == pytest.approx(59.5 + 0.75)
    assert rewards[0] > 0.1 and rewards[-1] == 0


def test_every_second_race_is_greedy(stand_in, make_env):
    env = make_env(stand_in(), greedy_every=2, place=(1, 3, 0))
    seen = []
    for _ in range(3):  # races 1, 4 and 7 of three copies
        env.reset()
        seen.append(env.observe()["explores"].tolist())
    assert seen == [[False], [True], [False]]


def test_the_finish_in_the_tick_of_a_step_takes_the_frame_back(stand_in, make_env):
    game = stand_in(finish_at=200)
    env = make_env(game, view="both")
    env.reset()
    rewards, (terminated, _, info) = race(env)
    assert (terminated, len(rewards), info["race_time"]) == (True, 4, 210)
    assert ends_with(game, "cancel_frame")
    env.reset()
    assert race(env)[1][0] is True


def test_a_frame_that_comes_all_the_same_is_ignored(stand_in, make_env):
    game = stand_in(finish_at=200, late_frame=True)
    env = make_env(game, view="both")
    for _ in range(2):
        env.reset()
        assert race(env)[1][0] is True
    assert game.connections == 1


def test_without_checkpoints_the_finish_is_prevented(stand_in, make_env):
    game = stand_in(checkpoints=0)
    env = make_env(game)
    for _ in range(2):
        env.reset()
        assert race(env)[1][0] is True
    assert ends_with(game, "set_timeout")
    assert game.names("C").count("prevent_finish") == 2


def test_pictures_are_those_of_the_moment(stand_in, make_env):
    game = stand_in()
    env = make_env(game, view="both")
    env.reset()
    for _ in range(3):
        step(env)
        blue = game.time // 10 % 256
        frame = env.observe()["obs/frames"][0]
        assert frame.shape == (16, 32, 1)
        assert abs(int(frame[5, 5, 0]) - (0.114 * blue + 0.587 * 7 + 0.299 * 11)) <= 1
        assert frame[0, 0, 0] == 2  # of 1, 2, 3


def test_what_the_car_does_is_seen(stand_in, make_env):
    env = make_env(stand_in())
    env.reset()
    assert env.observe()["obs"][0, 1:21].tolist() == [1, 0, 0, 0] * 5  # forward stands for what was before
    for action in (0, 0, LEFT, 8):
        step(env, action)
    seen = env.observe()
    floats = seen["obs"][0]
    assert floats[1:21].reshape(5, 4).tolist() == [list(INPUTS[k]) for k in (0, 0, 0, LEFT, 8)]
    assert floats[58] > 0.5 and floats[59:62].tolist() == [0, 1, 0]
    assert floats[182] == pytest.approx(59.5 - seen["meters_advanced_along_centerline"][0], abs=1e-3)
    assert seen["car_gear_and_wheels"][0].tolist() == floats[21:53].tolist()
    assert seen["potential"][0] == pytest.approx(-0.2)
    for _ in range(8):
        step(env, LEFT)
    assert (
        env.observe()["obs"][0, 62 + 3] < -0.1
    )  # turned left: the line lies to the right, where the car's left is < 0


def test_actions_that_do_not_exist_are_refused(stand_in, make_env):
    env = make_env(stand_in())
    env.reset()
    with pytest.raises(ValueError, match="there are 0 to 11"):
        step(env, 12)


def test_personal_bests_are_hidden(stand_in, make_env, tmp_path):
    replay = tmp_path / "Tracks/Replays/Autosaves/me_A.Replay.gbx"
    replay.parent.mkdir(parents=True)
    replay.touch()
    make_env(stand_in(), user="me", documents=str(tmp_path)).reset()
    assert [path.name for path in replay.parent.iterdir()] == ["me_A.Replay.bak"]


def test_each_copy_has_its_port_and_its_part_of_the_cycle(line_file, stand_in):
    game = stand_in(("A", "B", "C"))
    cycle = [{"map": name, "line": line_file} for name in "ABC"]
    env = TrackManiaEnv(map_cycle=cycle, port=game.port - 1, place=(1, 2, 1), game_timeout=2.0)
    played = []
    for _ in range(3):
        env.reset()
        played.append(game.loaded)
    assert played == ["B", "A", "C"]
    assert TrackManiaEnv(map_cycle=cycle, place=(1, 2, 7)).options.own_port == 8478 + 7
    env.close()
