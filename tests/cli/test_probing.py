"""The probes: what learns passes them, and what is broken is caught by the one that shows it."""

import pytest

import broken_learners
from broken_learners import BROKEN
from cli.probing import FAILED, PASSED, UNSUITED, outcomes_of, require_games
from envs.probes import GAMES, ProbeGame
from own_parts import registries_restored
from probe import main as probe
from utils.errors import ConfigError

ORDER = list(GAMES)


@pytest.fixture(autouse=True)
def broken_parts():
    with registries_restored():
        broken_learners.register()
        yield


def verdicts(algorithm, games, **settings):
    return {one.game: one.verdict for one in outcomes_of(algorithm, settings, {}, games)}


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["vdn", "iqn", "ia2c"])
def test_presets_pass(algorithm):
    expected = dict.fromkeys(GAMES, PASSED)
    if algorithm == "iqn":
        expected["memory"] = UNSUITED  # its networks are feed-forward
    assert verdicts(algorithm, ORDER) == expected


@pytest.mark.slow
def test_a_plain_learner_of_the_users_passes():
    assert verdicts("iql", ORDER, learner="Plain") == dict.fromkeys(GAMES, PASSED)


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "preset", "game"), [(one.__name__, *what) for one, what in BROKEN.items()])
def test_a_broken_learner_is_caught_by_the_probe_that_shows_it(learner, preset, game):
    """It passes the probe before that one, and fails this; where policy and values share a network, only the latter."""
    before = 1 if preset == "iql" else 0
    games = ORDER[max(0, ORDER.index(game) - before) : ORDER.index(game) + 1]
    found = verdicts(preset, games, learner=learner)
    assert found == {**dict.fromkeys(games, PASSED), game: FAILED}


def played(actions, **args):
    """Rewards of an episode in which the agents do `actions[t]`, and the signs that they saw first."""
    game = ProbeGame(seed=3, **args)
    signs = game.observe()["obs"][:, 0].tolist()
    rewards = [game.step({"actions": actions(signs)})[0]["reward"] for _ in range(game.episode_limit)]
    return rewards, signs


def test_the_games_pay_what_they_say():
    import numpy as np

    def by_sign(signs):
        return (np.array(signs) > 0).astype(np.int64)

    def ones(signs):
        return np.ones(len(signs), np.int64)

    assert played(ones, game="constant")[0] == [1]
    assert played(ones, game="delay")[0] == [0, 1]
    assert played(ones, game="action")[0] == [1]
    rewards, signs = played(ones, game="observation")
    assert rewards == signs[:1] and len(set(signs)) == 1
    for game, last in (("joint", 0.0), ("memory", 0.5)):
        rewards, signs = played(by_sign, game=game, n_agents=4)
        assert rewards[-1] == 1 and len(set(signs)) == 2
        assert played(lambda signs: np.roll(by_sign(signs), 1), game=game, n_agents=4)[0][-1] <= last
    near = played(lambda signs: 0.5 * np.array([signs]).T, game="joint", continuous=True)[0]
    assert near == [1] and played(lambda s: np.zeros((2, 1)), game="joint", continuous=True)[0] == [0.5]


def test_what_is_asked_for_is_refused_in_words(capsys):
    assert require_games("memory, delay") == ["delay", "memory"]
    with pytest.raises(ConfigError, match="Did you mean 'delay'"):
        require_games("dalay")
    assert probe([]) == 2
    assert "--config is missing" in capsys.readouterr().err
    assert probe(["--config=vdn", "with", "learner=broken"]) == 2
    assert "Unknown learner 'broken'" in capsys.readouterr().err
