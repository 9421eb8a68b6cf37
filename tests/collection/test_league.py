"""A league: who meets whom by hand, its folder, and exploiters that begin again."""

import copy
import json
import logging
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch as th

from checkpoints.errors import CheckpointError
from collection.opponents.league import League
from collection.opponents.league_folder import LeagueFolder
from collection.opponents.league_pool import KEPT, LeaguePool
from collection.opponents.matchmaking import ITSELF, FrozenCopy, Matchmaking, forgotten_of
from collection.opponents.ratings import DRIFT, NEWEST, Ratings
from collection.opponents.win_rates import WinRates
from off_policy import DDPG, make_learner, make_sample
from utils.errors import ConfigError

SIDES = {"red": "", "blue": ""}


def main(step, player="main_1"):
    return FrozenCopy(player, "main", step)


def exploiter(step, player="main_exploiter_1"):
    return FrozenCopy(player, "main_exploiter", step)


def chances(player, role, copies, rates):
    found = Matchmaking(player, role).probabilities(copies, lambda name: rates[name])
    assert sum(found.values()) == pytest.approx(1)
    return found


@pytest.mark.parametrize("role", ["main", "main_exploiter", "league_exploiter"])
def test_an_empty_league_is_self_play(role):
    assert chances("me", role, [], {}) == pytest.approx({ITSELF: 1})


def test_a_main_player_by_hand():
    """Of 0.5 by (1 - x)^2: 0.04, 0.25 and 0.16 of 0.45. No exploiter wins more than 70 %, and nothing is forgotten."""
    copies = [main(0), main(10), exploiter(5)]
    rates = {"main_1/0": 0.8, "main_1/10": 0.5, "main_exploiter_1/5": 0.6}
    assert chances("main_1", "main", copies, rates) == pytest.approx(
        {"main_1/0": 0.02 / 0.45, "main_1/10": 0.125 / 0.45, "main_exploiter_1/5": 0.08 / 0.45, ITSELF: 0.5}
    )


def test_main_exploiters_that_beat_a_main_player_are_checked():
    """0.15 of (1 - x)^2: 0.64 and 0.16; of 0.5 they are with 0.25 of 1.05."""
    copies = [main(0), exploiter(5), exploiter(9)]
    rates = {"main_1/0": 0.5, "main_exploiter_1/5": 0.2, "main_exploiter_1/9": 0.6}
    assert chances("main_1", "main", copies, rates) == pytest.approx(
        {
            "main_1/0": 0.5 * 0.25 / 1.05,
            "main_exploiter_1/5": 0.5 * 0.64 / 1.05 + 0.15 * 0.8,
            "main_exploiter_1/9": 0.5 * 0.16 / 1.05 + 0.15 * 0.2,
            ITSELF: 0.35,
        }
    )


def test_what_a_main_player_has_forgotten_is_checked():
    """Copy 10 is harder to beat than 20, which is newer: up to 20 all are forgotten. Weights 0.01, 0.36, 0.16."""
    copies = [main(step) for step in (0, 10, 20, 30)]
    rates = {"main_1/0": 0.9, "main_1/10": 0.4, "main_1/20": 0.6, "main_1/30": 0.5}
    prioritised = {
        "main_1/0": 0.01 / 0.78,
        "main_1/10": 0.36 / 0.78,
        "main_1/20": 0.16 / 0.78,
        "main_1/30": 0.25 / 0.78,
    }
    forgotten = {"main_1/0": 0.01 / 0.53, "main_1/10": 0.36 / 0.53, "main_1/20": 0.16 / 0.53}
    expected = {name: 0.5 * prioritised[name] + 0.15 * forgotten.get(name, 0) for name in prioritised}
    assert chances("main_1", "main", copies, rates) == pytest.approx({**expected, ITSELF: 0.35})


def test_of_two_main_players_each_meets_the_other_half_of_the_time():
    copies = [main(0), main(0, "main_2"), main(10, "main_2")]
    equal = {"main_1/0": 0.9, "main_2/0": 0.8, "main_2/10": 0.4}
    found = chances("main_1", "main", copies, equal)
    # 0.01, 0.04, 0.36 of 0.41; the other main player as it is now in 0.175 of self-play and 0.075 of checks
    assert found == pytest.approx(
        {"main_1/0": 0.005 / 0.41, "main_2/0": 0.02 / 0.41, "main_2/10": 0.18 / 0.41 + 0.25, ITSELF: 0.25}
    )
    # too strong: as it was, by x (1 - x): 0.16 and 0.16
    stronger = {**equal, "main_2/10": 0.2}
    found = chances("main_1", "main", copies, stronger)
    assert found["main_2/10"] == pytest.approx(0.5 * 0.64 / 0.69 + 0.125)
    assert found["main_2/0"] == pytest.approx(0.5 * 0.04 / 0.69 + 0.125)


def test_a_main_exploiter_meets_the_newest_and_if_it_loses_always_the_past():
    copies = [main(0), main(10), main(20), main(0, "main_2"), exploiter(7)]
    rates = {"main_1/0": 0.5, "main_1/10": 0.2, "main_1/20": 0.1, "main_2/0": 0.2}
    # of x (1 - x): 0.25, 0.16, 0.09
    assert chances("main_exploiter_1", "main_exploiter", copies, rates) == pytest.approx(
        {"main_1/0": 0.25, "main_1/10": 0.16, "main_1/20": 0.09, "main_2/0": 0.5}
    )
    assert chances("main_exploiter_1", "main_exploiter", copies[:3], {**rates, "main_1/20": 0.9}) == {"main_1/20": 1}


def test_a_league_exploiter_meets_all():
    copies = [main(0), exploiter(5), FrozenCopy("league_exploiter_1", "league_exploiter", 3)]
    rates = {"main_1/0": 0.5, "main_exploiter_1/5": 0.0, "league_exploiter_1/3": 1.0}
    assert chances("league_exploiter_1", "league_exploiter", copies, rates) == pytest.approx(
        {"main_1/0": 0.2, "main_exploiter_1/5": 0.8}
    )
    beaten = dict.fromkeys(rates, 1.0)
    assert chances("league_exploiter_1", "league_exploiter", copies, beaten) == pytest.approx(
        dict.fromkeys(rates, 1 / 3)
    )


@pytest.mark.parametrize(
    ("rates", "count"), [([], 0), ([0.4], 0), ([0.9, 0.8, 0.8], 0), ([0.3, 0.4, 0.2], 2), ([0.5, 0.4, 0.45], 3)]
)
def test_what_counts_as_forgotten(rates, count):
    past = [main(k) for k in range(len(rates))]
    assert forgotten_of(past, rates) == past[:count]


def pool_of(role="main", rate=lambda group, name: 0.5, read=lambda name: {"": name}, player="main_1"):
    return LeaguePool(Matchmaking(player, role), 100, 1, rate, read)


def test_one_group_learns_and_the_others_are_played_by_the_copy_that_was_drawn():
    """By the rates of the group that learns: red always beats copy 0, blue copy 10; each is the other's only enemy."""
    pool = pool_of("league_exploiter", lambda group, name: float((group == "red") == (name == "main_1/0")))
    pool.look(0, [main(0), main(10)])
    draws = Counter(tuple(pool.draw(SIDES).items()) for _ in range(2000))
    assert set(draws) == {(("blue", "main_1/10"),), (("red", "main_1/0"),)}
    assert draws["blue", "main_1/10"] == 0 and draws[("blue", "main_1/10"),] / 2000 == pytest.approx(0.5, abs=0.04)
    assert pool_of().draw(SIDES) == {}


def test_a_pool_looks_at_intervals_and_resumes_from_a_state():
    pool = pool_of()
    assert pool.due(0)
    pool.look(0, [main(0), exploiter(3), FrozenCopy("main_2", "main", 8, {"main_1/0": 0.25})])
    assert not pool.due(99) and pool.due(100)
    assert pool.past == ["main_1/0"] and pool.ranks() == {
        "main_2/8": "main_2",
        "main_exploiter_1/3": "main_exploiter_1",
    }
    other, state = pool_of(), json.loads(json.dumps(pool.state_dict()))
    state["random"] = (state["random"][0], tuple(state["random"][1]), state["random"][2])
    other.load_state_dict(state)
    assert other.copies == pool.copies and other.copies[2].beaten == {"main_1/0": 0.25} and not other.due(99)
    assert [other.draw(SIDES) for _ in range(50)] == [pool.draw(SIDES) for _ in range(50)]
    with pytest.raises(ValueError, match="of a pool and not of a league"):
        other.load_state_dict({"random": state["random"], "last": 0, "past": {}})


def test_the_weights_that_were_used_last_stay_in_memory():
    read = []

    def reading(name):
        read.append(name)
        return {"": name}

    pool, names = pool_of(read=reading), [f"main_1/{k}" for k in range(KEPT + 1)]
    for name in (*names[:KEPT], names[0], names[KEPT], names[0], names[1]):
        assert pool.weights_of(name, "") == name
    assert read == [*names, names[1]]


class Saved:
    """A model of one team, in a file."""

    def save_models(self, path):
        th.save({"weight": th.zeros(3)}, Path(path, "agent.th"))


def joined(path, player="main_1", role="main", run="one"):
    folder = LeagueFolder(str(path), player, role, run)
    folder.join()
    return folder


def test_players_see_each_others_copies_and_no_later_ones_of_their_own(tmp_path):
    one, other = joined(tmp_path), joined(tmp_path, "main_exploiter_1", "main_exploiter", "two")
    for step in (0, 1000, 200):
        one.add(step, Saved(), {})
    other.add(300, Saved(), {"main_1/200": 0.75})
    assert [copy.name for copy in other.copies(0)] == ["main_1/0", "main_1/200", "main_1/1000"]
    one.add(200, Saved(), {"main_1/0": 1.0})  # of a run that was resumed: others have met the first one
    assert other.copies(0)[1].beaten == {}
    found = one.copies(200)
    assert [copy.name for copy in found] == ["main_1/0", "main_1/200", "main_exploiter_1/300"]
    assert found[2].role == "main_exploiter" and found[2].beaten == {"main_1/200": 0.75}
    assert one.model("main_exploiter_1/300", "") == tmp_path / "main_exploiter_1" / "300"


def test_a_name_is_of_one_run(tmp_path):
    joined(tmp_path, run="suite_main-s1")
    joined(tmp_path, run="suite_main-s1")  # resumed
    joined(tmp_path, run="suite_main-s1.2")  # begun once more by its suite
    for role, run in (("main", "another"), ("main_exploiter", "suite_main-s1.2")):
        with pytest.raises(
            ConfigError, match=r"main_1 is there already, the main of the run suite_main-s1\.2\. Resume"
        ):
            joined(tmp_path, role=role, run=run)


def test_faults_of_the_folder_are_said(tmp_path):
    folder = joined(tmp_path)
    folder.add(0, Saved(), {})
    with pytest.raises(ConfigError, match="the copy main_2/0 is missing"):
        folder.model("main_2/0", "")
    with pytest.raises(ConfigError, match="has no model of red"):
        folder.model("main_1/0", "red")
    (tmp_path / "main_1" / "0" / "agent.th").write_bytes(b"changed")
    with pytest.raises(CheckpointError, match=r"agent\.th"):
        folder.model("main_1/0", "")
    (tmp_path / "main_2").mkdir()
    (tmp_path / "main_2" / "player.json").write_text('{"role": "king", "run": "x"}')
    with pytest.raises(ConfigError, match="does not say which role of main, main_exploiter, league_exploiter"):
        folder.copies(0)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be kept there \(Not a directory\)"):
        joined(tmp_path / "file")
    (tmp_path / "main_1" / "7.tmp").write_text("")
    with pytest.raises(ConfigError, match=r"the copy .*main_1/7 could not be written"):
        folder.add(7, Saved(), {})


def _freeze_and_look(path, player):
    folder = joined(path, player, "main", player)
    for step in range(20):
        folder.add(step, Saved(), {f"{player}/{step}": 0.5})
        for found in folder.copies(step):
            assert found.beaten == {found.name: 0.5}
            folder.model(found.name, "")
    return len(folder.copies(20))


def test_several_processes_share_a_folder(tmp_path):
    with ProcessPoolExecutor(3) as pool:
        counts = list(pool.map(_freeze_and_look, [tmp_path] * 3, ["main_1", "main_2", "main_3"]))
    assert max(counts) == 60


def league_of(role, path, rates=(), learner=None, **changes):
    """A league's player without controllers; `rates`: (copy, wins, episodes) of both groups together."""
    found = object.__new__(League)
    settings = {"opponent_memory": 1.0, "league_win_rate": 0.7, "league_reset_steps": 1000, **changes}
    found._args, found._role, found._player = SimpleNamespace(**settings), role, f"{role}_1"
    found._sides, found._teams, found._ratings, found._playing = SIDES, {"": list(SIDES)}, None, {}
    found._rates, found._first, found._begun, found._joined = WinRates(1.0), {}, None, False
    found._folder = LeagueFolder(str(path), found._player, role, "run")
    found._mac = found._acting = SimpleNamespace(teams={"": SimpleNamespace(mac=Saved())})
    found._learners, found._known = ({"": learner} if learner else {}), {"": None}
    found._logger = SimpleNamespace(console_logger=logging.getLogger("test"))
    found._pool = pool_of(role, found._rate, player=found._player)
    for name, wins, episodes in rates:
        for k in range(episodes):
            found._rates.add("red" if k % 2 else "blue", name, float(k < wins))
    return found


@pytest.mark.parametrize(
    ("role", "rates", "steps", "done"),
    [
        ("main_exploiter", [("main_1/10", 30, 40)], 1, True),  # (15.5 + 15.5) / 2 / 21 = 0.74
        ("main_exploiter", [("main_1/10", 28, 40)], 1, False),  # 0.69
        ("main_exploiter", [("main_1/10", 19, 19)], 1, False),  # too few
        ("main_exploiter", [("main_1/10", 0, 40)], 999, False),
        ("main_exploiter", [], 1000, True),
        ("league_exploiter", [("main_1/10", 40, 40)], 1, False),  # others are not beaten
        ("league_exploiter", [("main_1/0", 40, 40), ("main_1/10", 40, 40), ("main_exploiter_1/5", 40, 40)], 1, True),
    ],
)
def test_when_an_exploiter_is_done(tmp_path, role, rates, steps, done):
    league = league_of(role, tmp_path, rates)
    assert not league._exploits(1)
    league._pool.look(0, [main(0), main(10), exploiter(5)])
    assert league._exploits(steps) == done


def test_what_a_main_player_believes_of_a_copy_that_it_never_met(tmp_path):
    """What that copy says of the newest of the player's own past that it met."""
    stranger = FrozenCopy("main_exploiter_1", "main_exploiter", 5, {"main_1/0": 0.1, "main_1/10": 0.8, "main_2/0": 0})
    league = league_of("main", tmp_path)
    league._pool.look(0, [main(0), main(10), main(20), stranger, exploiter(9)])
    assert league._rate("red", "main_exploiter_1/5") == pytest.approx(0.2)
    assert league._rate("red", "main_exploiter_1/9") == 0.5
    league._rates.add("red", "main_exploiter_1/5", 1.0)
    assert league._rate("red", "main_exploiter_1/5") == 0.75


def state_of(learner):
    return copy.deepcopy([learner.mac.agent.state_dict(), learner.critic.state_dict(), learner.agent_optimiser.state])


def test_a_main_exploiter_is_frozen_and_begins_again_as_it_was(tmp_path):
    learner, _ = make_learner(**DDPG)
    league = league_of("main_exploiter", tmp_path, learner=learner)
    joined(tmp_path, run="other").add(0, Saved(), {})
    first, target = state_of(learner), copy.deepcopy(learner.target_critic.state_dict())
    league._take_newest(0)
    for _ in range(3):
        learner.train(make_sample(), 0, 0)
    trained = state_of(learner)
    assert all(any(not th.equal(trained[k][key], first[k][key]) for key in first[k]) for k in (0, 1)) and trained[2]
    league._take_newest(50)  # not a time to look
    league._take_newest(100)  # has beaten nobody
    for _ in range(40):
        league._rates.add("red", "main_1/0", 1.0)
    learner.take_live("lr", 0.125)
    league._take_newest(150)
    assert list((tmp_path / "main_exploiter_1").glob("[0-9]*")) == []
    league._take_newest(200)
    assert [copy.name for copy in league._pool.copies] == ["main_1/0", "main_exploiter_1/200"]
    assert league._pool.copies[1].beaten == {"main_1/0": pytest.approx(40.5 / 41)}
    again = state_of(learner)
    assert all(th.equal(again[k][key], first[k][key]) for k in (0, 1) for key in first[k]) and again[2] == {}
    assert all(th.equal(value, target[key]) for key, value in learner.target_critic.state_dict().items())
    assert [optimiser.param_groups[0]["lr"] for optimiser in learner.optimisers.values()] == [
        0.125,
        learner.args.critic_lr,
    ]
    assert league._rates.episodes("red", "main_1/0") == 0 and league._begun == 200
    league._take_newest(1100)
    assert len(league._pool.copies) == 2
    league._take_newest(1200)  # as long as league_reset_steps says
    assert len(league._pool.copies) == 3


def test_main_players_never_begin_again_and_league_exploiters_sometimes(tmp_path):
    begun = {"main": 0, "league_exploiter": 0}
    for role in begun:
        league = league_of(role, tmp_path, league_reset_steps=100)
        league._begin_again = lambda t_env, role=role: begun.update({role: begun[role] + 1})
        for t_env in range(0, 100 * 50, 100):
            league._take_newest(t_env)
    assert begun["main"] == 0 and begun["league_exploiter"] / 49 == pytest.approx(0.25, abs=0.15)
    assert len(list((tmp_path / "main_1").glob("[0-9]*"))) == 50
    assert len(list((tmp_path / "league_exploiter_1").glob("[0-9]*"))) == 49


def test_episodes_of_training_and_of_tests_count(tmp_path):
    league = league_of("main", tmp_path)
    league.take_episode({"red/return": 1.0, "blue/return": 0.0})  # of itself
    assert league._rates.state_dict() == {}
    league._playing = {"blue": "main_2/0"}
    league.take_episode({"red/return": 1.0, "blue/return": 0.0})
    league._tested("blue", "main_2/0", 0.0)
    assert league._rates.of("red", "main_2/0") == 0.75 and league._rates.of("blue", "main_2/0") == 0.25
    assert league._mean_rate("main_2/0") == 0.5 and league._episodes("main_2/0") == 2


def test_a_players_rating_continues_from_copy_to_copy(tmp_path):
    pytest.importorskip("openskill", reason="pip install -r requirements-ratings.txt")
    league, other = league_of("main", tmp_path), joined(tmp_path, "main_2", run="other")
    league._ratings = Ratings()
    other.add(0, Saved(), {})
    league._take_newest(0)
    for _ in range(5):
        league._ratings.take(("", NEWEST), [("", "main_2/0")], 0.0)
    mean, deviation = league._ratings.of("", "main_2/0")
    assert mean > 30 and deviation < 8
    other.add(70, Saved(), {})
    league._take_newest(100)
    assert league._ratings.of("", "main_2/70") == pytest.approx((mean, (deviation**2 + DRIFT**2) ** 0.5))
    assert league._ratings.of("", "main_2/0")[0] == pytest.approx(25)
    league._take_newest(200)  # the same copy
    assert league._ratings.of("", "main_2/70")[0] == pytest.approx(mean)
