"""The probes: what learns passes them, and what is broken is caught by the one that shows it."""

import numpy as np
import pytest

import broken_learners
from broken_learners import BROKEN
from checks import check_config
from cli.probe_configs import CHOICES, CONTINUOUS, ENTITIES, OF_PICTURES, UnsuitedError, config_of
from cli.probing import FAILED, PASSED, UNSUITED, Outcome, outcomes_of, require_games
from envs.entities.adapter import EntityEnv
from envs.probe_entities import NAME
from envs.probe_entities import register as register_entities
from envs.probes import GAMES, ProbeGame
from own_parts import registries_restored
from probe import main as probe
from utils.config.merging import config_names, parameter_names
from utils.errors import ConfigError
from utils.processes.stop_signals import Interrupted

ORDER = list(GAMES)


@pytest.fixture(autouse=True)
def broken_parts():
    with registries_restored():
        broken_learners.register()
        yield


def verdicts(algorithm, games, **settings):
    return {one.game: one.verdict for one in outcomes_of(algorithm, settings, {}, games)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "games"),
    [
        ("vdn", ["joint"]),
        ("ia2c", ORDER),
        ("ddpg", ["delay", "observation", "memory"]),
        ("enn_ppo", ["observation", "memory"]),
    ],
)
def test_presets_pass(algorithm, games):
    """Of values, of a policy, of numbers, of entities; `./muster probe --all` plays the others."""
    expected = dict.fromkeys(games, PASSED)
    if algorithm in ("ddpg", "enn_ppo"):
        expected["memory"] = UNSUITED  # their networks are feed-forward
    assert verdicts(algorithm, games) == expected


@pytest.mark.parametrize("algorithm", [*config_names("algs"), *parameter_names()])
def test_every_preset_has_a_probe_of_its_form_or_a_reason(algorithm):
    """No preset needs an environment of its own, a panel's environment that is not installed, or other processes."""
    try:
        config, form = config_of("joint", 2, algorithm, {})
    except UnsuitedError as error:
        assert algorithm == "digideep_ppo_pictures" and str(error) == OF_PICTURES
        return
    names = "ddpg ddpg_mujoco iddpg td3 matd3 sac sac_v1 sac_mujoco isac tqc crossq maddpg facmac masac haddpg hatd3"
    numbers = {*names.split(), "hasac", "td3_bc", "sac_cql", "omar", "digideep_ddpg", "digideep_sac", "digideep_sac_v2"}
    assert form == (ENTITIES if algorithm == "enn_ppo" else CONTINUOUS if algorithm in numbers else CHOICES)
    assert config["env"] == ("entities" if form == ENTITIES else "probe") and config["t_max"] <= 12_000
    assert config["gamma"] == 0.5 and not config.get("add_value_last_step") and config.get("collection") != "collectors"
    check_config(config)


def test_settings_win_over_the_budget_and_the_panel():
    settings = {"cpanel": {"n_steps": 2}, "lr": 0.1, "add_value_last_step": True}
    assert config_of("delay", 1, "digideep_sac", {"cpanel": {"batch_size": 7}, "lr": 0.1})[0]["lr"] == 0.1
    assert config_of("delay", 1, "epymarl_ia2c", {"add_value_last_step": True})[0]["add_value_last_step"]
    with pytest.raises(ConfigError, match="no parameter file"):
        config_of("delay", 1, "vdn", settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"env_args": {"game": "delay"}}, "env_args: the probes have games of their own. --games=NAMES"),
        ({"test_nepisode": 0}, "test_nepisode=0: the probes judge by tests"),
    ],
)
def test_settings_do_not_take_from_the_probes_what_they_judge_by(settings, message):
    with pytest.raises(ConfigError, match=message):
        config_of("action", 2, "vdn", settings)


def test_the_game_of_entities_is_the_same_one():
    register_entities()
    env = EntityEnv(NAME, {"game": "joint", "n_agents": 3}, seed=1)
    env.reset()
    signs = env.observe()["entities/Agent"][:, 0]
    assert len(set(signs.tolist())) == 2
    outcome, ended, truncated, _ = env.step({"actions": (signs > 0).astype(np.int64)})
    assert outcome["reward"] == 1 and ended and not truncated
    env.reset()
    assert env.step({"actions": np.zeros(3, np.int64)})[0]["reward"] == 0


@pytest.mark.slow
def test_a_plain_learner_of_the_users_passes():
    games = ["delay", "joint"]
    assert verdicts("iql", games, learner="Plain") == dict.fromkeys(games, PASSED)


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


def test_all_presets_have_a_line_each(capsys, monkeypatch):
    import cli.probing

    games = [("constant", PASSED, "fine"), ("delay", FAILED, "0.5"), ("memory", UNSUITED, "no memory")]
    monkeypatch.setattr(cli.probing, "presets", lambda: ["fit", "ill", "odd"])

    def outcomes(preset, settings, texts, asked):
        assert settings == {"lr": 0.1} and asked == ["constant", "delay", "memory"]
        if preset == "odd":
            raise ConfigError("Odd.")
        yield from (Outcome(*one, seconds=2.0) for one in games if preset == "ill" or one[1] != FAILED)

    monkeypatch.setattr(cli.probing, "outcomes_of", outcomes)
    assert probe(["--all", "--games=constant,delay,memory", "with", "lr=0.1"]) == 1
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        "fit                    1 of 2 passed; memory not played: no memory (4 s)",
        "ill                    1 of 3 passed; delay failed: 0.5; memory not played: no memory (6 s)",
        "odd                    refused    Odd.",
    ]
    assert "2 of 3 presets failed" in told.err
    assert probe(["--all", "--config=vdn"]) == 2


def test_a_probe_that_is_interrupted_promises_nothing(capsys, monkeypatch):
    import cli.probing

    def run(*_):
        raise Interrupted(15, "Resume from the checkpoint")

    monkeypatch.setattr(cli.probing, "run", run)
    assert probe(["--config=vdn", "--games=constant"]) == 143
    assert capsys.readouterr().err == "interrupted; the probes that were played are above.\n"


def test_what_is_asked_for_is_refused_in_words(capsys):
    assert require_games("memory, delay") == ["delay", "memory"]
    with pytest.raises(ConfigError, match="Did you mean 'delay'"):
        require_games("dalay")
    assert probe([]) == 2
    assert "--config is missing" in capsys.readouterr().err
    assert probe(["--config=vdn", "with", "learner=broken"]) == 2
    assert "Unknown learner 'broken'" in capsys.readouterr().err
