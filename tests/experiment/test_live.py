"""Changes while a run is under way: by a file, and by schedules."""

import logging
from pathlib import Path

import pytest

from checks.options import declared
from cli.compose import compose_config
from experiment.live import LiveChanges, LiveConfig, start_schedules
from experiment.loop import TrainingLoop
from fakes import RecordingLogger
from helpers import make_args
from run import run
from small_training import suited
from team_runs import DRONES, config_of
from utils.errors import ConfigError, MusterError

pytestmark = pytest.mark.slow

CONSOLE = logging.getLogger("test.live")


class Part:
    """Takes whatever changes, but one value."""

    def __init__(self, args):
        self.args, self.taken = args, []

    def take_live(self, key, value):
        if value == 13:
            raise MusterError("not thirteen")
        self.taken.append((key, value))


def changes_of(tmp_path, **args):
    args = make_args(**args)
    part, copy = Part(args), Part(make_args())
    config = LiveConfig(args, start_schedules(args), [part, copy, None])
    return LiveChanges({"": config}, tmp_path / "live.yaml", CONSOLE), part, copy


def test_a_file_changes_keys_and_takes_its_changes_back(tmp_path, caplog):
    live, part, copy = changes_of(tmp_path, lr=0.5)
    logger = RecordingLogger()
    with caplog.at_level("INFO"):
        live.before_rollout(0, logger)
        assert not part.taken
        (tmp_path / "live.yaml").write_text("lr: 0.25\ntest_interval: 2e3\n")
        live.before_rollout(10, logger)
        live.before_rollout(20, logger)
    assert part.taken == copy.taken == [("lr", 0.25)]  # test_interval has its value already
    assert part.args.lr == copy.args.lr == 0.25
    assert "live.yaml, after 10 steps: lr is 0.25, it was 0.5." in caplog.text
    assert logger.values["live/lr"] == [(10, 0.25)]
    (tmp_path / "live.yaml").write_text("test_interval: 77\n")
    live.before_rollout(30, logger)
    assert part.args.lr == 0.5
    assert part.args.test_interval == 77
    (tmp_path / "live.yaml").unlink()
    live.before_rollout(40, logger)
    assert part.args.test_interval == declared()["test_interval"].default


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("lr: [", "live.yaml"),
        ("lr: fast", "lr=fast: expected a number"),
        ("lr: 0.25\ngamma: 2", "gamma=2: it must be between 0 and 1"),
        ("lrr: 0.25", "'?lrr'? is no key of this run.*lr"),
        ("agent: ff", "'?agent'? is read at the start of a run only"),
        ("teams: {red: {lr: 0.25}}", "there is no team '?red"),
        ("teams: 5", "teams: it must be a mapping of teams to their keys"),
        ("lr: 13", "not thirteen"),
    ],
)
def test_a_bad_file_is_reported_and_ignored(tmp_path, caplog, content, reason):
    import re

    live, part, _ = changes_of(tmp_path, lr=0.5)
    (tmp_path / "live.yaml").write_text(content)
    with caplog.at_level("WARNING"):
        live.before_rollout(10, RecordingLogger())
        live.before_rollout(20, RecordingLogger())
    assert part.args.lr == 0.5
    assert caplog.text.count("is ignored") == 1
    assert re.search(reason, caplog.text)
    (tmp_path / "live.yaml").write_text("lr: 0.125")
    live.before_rollout(30, RecordingLogger())
    assert part.args.lr == 0.125


def test_schedules_are_followed(tmp_path):
    live, part, copy = changes_of(
        tmp_path, lr=[[0, 1.0], [100, 0.5]], gamma=["exponential", [0, 0.25], [100, 1.0]], buffer_size=20
    )
    assert (part.args.lr, part.args.gamma) == (1.0, 0.25)
    live.before_rollout(50, RecordingLogger())
    assert (part.args.lr, part.args.gamma) == (copy.args.lr, copy.args.gamma) == (0.75, 0.5)
    (tmp_path / "live.yaml").write_text("buffer_size: [staircase, [0, 30], [60, 40]]\nlr: 0.125")
    live.before_rollout(50, RecordingLogger())
    assert (part.args.lr, part.args.buffer_size) == (0.125, 30)
    live.before_rollout(60, RecordingLogger())
    assert part.args.buffer_size == 40


def test_a_resumed_run_has_the_changes_and_logs_them_once(tmp_path):
    live, _, _ = changes_of(tmp_path, lr=0.5)
    (tmp_path / "live.yaml").write_text("lr: 0.25")
    live.before_rollout(10, RecordingLogger())
    again, part, _ = changes_of(tmp_path, lr=0.5)
    again.load_state_dict(live.state_dict())
    assert part.args.lr == 0.25
    logger = RecordingLogger()
    again.before_rollout(20, logger)
    assert "live/lr" not in logger.values
    with pytest.raises(ConfigError, match="is no key of this run"):
        again.load_state_dict({"": {"lrr": 1}})


def small(tmp_path, algorithm="iqn", **changes):
    config = compose_config(algorithm, "two_step").config
    small = {"batch_size": 4, "seed": 1, "test_nepisode": 1, "rnn_hidden_dim": 8, "batch_size_run": 2, "t_max": 200}
    small |= {
        "local_results_path": str(tmp_path),
        "run_name": "mine",
        "learner_log_interval": 1,
        "test_interval": 10**6,
    }
    return suited(config, {**small, **changes})


def watched(monkeypatch, notice):
    original = TrainingLoop._gather_and_learn

    def gather(loop):
        original(loop)
        notice(loop)

    monkeypatch.setattr(TrainingLoop, "_gather_and_learn", gather)


def test_every_part_of_a_run_takes_its_changes(tmp_path, monkeypatch):
    folder, seen = Path(tmp_path, "runs", "mine"), []

    def notice(loop):
        if not seen:
            folder.mkdir(parents=True, exist_ok=True)
            text = "lr: 0.25\nepsilon: 0.5\nbuffer_size: 3000\nreplay_ratio: 0.125\ngamma: 0.5\nt_max: 90\nkappa: 2\n"
            (folder / "live.yaml").write_text(text)
        team = loop.parts.teams[0]
        buffer = team.buffer._buffer
        seen.append(
            (
                team.learner.optimiser.param_groups[0]["lr"],
                loop.parts.acting_mac.action_selector.epsilon,
                buffer.ring.capacity,
                team.plan._uses,
                team.learner.args.gamma,
                team.learner.args.kappa,
            )
        )

    watched(monkeypatch, notice)
    run(small(tmp_path, acting="ahead", epsilon=0.75, kappa=1.0, lr=0.5))
    first = (0.5, 0.75, 2000, pytest.approx(1.2), 0.99, 1.0)
    assert seen[0] == first
    assert seen[-1] == (0.25, 0.5, 3000, 0.125, 0.5, 2)
    assert 5 < len(seen) < 10  # t_max


def test_collectors_take_changes(tmp_path, monkeypatch):
    folder, explored = Path(tmp_path, "runs", "mine"), []

    def notice(loop):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "live.yaml").write_text("epsilon: 0.0")
        for key, values in loop.logger.stats.items():
            if key == "epsilon":
                explored[:] = [value for _, value in values]

    watched(monkeypatch, notice)
    run(small(tmp_path, runner="collectors", epsilon=0.75, runner_log_interval=1, t_max=400))
    assert explored[0] == 0.75
    assert explored[-1] == 0.0


def test_schedules_of_a_config_reach_the_parts(tmp_path, monkeypatch):
    seen = []
    watched(monkeypatch, lambda loop: seen.append((loop.args.lr, loop.parts.teams[0].buffer._buffer.ring.capacity)))
    run(small(tmp_path, lr=[[0, 1.0], [100, 0.5]]) | {"buffer_size": ["staircase", [0, 100], [96, 200]]})
    assert seen[0] == (1.0, 100)
    assert seen[-1] == (0.5, 200)
    assert len({rate for rate, _ in seen}) > 3


def test_sizes_that_would_be_copied_at_every_rollout_are_refused(tmp_path):
    config = small(tmp_path) | {"buffer_size": [[0, 100], [96, 200]]}
    with pytest.raises(ConfigError, match="changes its size, and by a staircase"):
        run(config)


def test_what_cannot_change_says_so(tmp_path, monkeypatch, caplog):
    folder = Path(tmp_path, "runs", "mine")

    def notice(loop):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "live.yaml").write_text("replay_ratio: 2\nbuffer_size: 50")

    watched(monkeypatch, notice)
    with caplog.at_level("WARNING"):
        run(small(tmp_path, "iql", buffer_size=32, batch_size_run=1, t_max=20))
    assert "the run makes updates_per_rollout" in caplog.text
    assert "only buffer=transitions can change its size" in caplog.text


def races(tmp_path, **changes):
    config = compose_config("iqn", "racing").config
    env_args = {**config["env_args"], "metres": 60.0, "zones_ahead": 2, "time_limit": 40, **changes.pop("env_args")}
    small = {"batch_size": 4, "seed": 1, "test_nepisode": 1, "rnn_hidden_dim": 8, "batch_size_run": 2, "t_max": 200}
    small |= {"local_results_path": str(tmp_path), "run_name": "mine", "test_interval": 10**6}
    small |= {"rollout_steps": 4, "epsilon": 0.0, "buffer_size": 2000}
    return suited(config, {**small, "env_args": env_args, **changes})


def rewards_of(monkeypatch):
    """The rewards of each rollout, of cars that stand still: of time alone."""
    from experiment.loop import TrainingLoop as Loop

    rewards, finite = [], Loop._is_finite

    def noted(loop, batch, t_env):
        rewards.append(batch["reward"][:, :4].flatten().tolist())
        return finite(loop, batch, t_env)

    monkeypatch.setattr(Loop, "_is_finite", noted)
    return rewards


ONLY_TIME = {"reward_per_m_advanced_along_centerline": 0.0}


@pytest.mark.parametrize("acting", ["in_turn", "ahead", "collectors"])
def test_rewards_are_weighed_by_schedules_and_by_changes(tmp_path, monkeypatch, acting):
    rewards, folder = rewards_of(monkeypatch), Path(tmp_path, "runs", "mine")

    def notice(loop):
        if len(rewards) == 12:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "live.yaml").write_text("env_args: {constant_reward_per_ms: 0.04}")

    watched(monkeypatch, notice)
    weights = ["staircase", [0, -0.02], [40, 0.02]]
    collectors = {"processes": 1, "deterministic": True}
    config = races(tmp_path, acting=acting, env_args={**ONLY_TIME, "constant_reward_per_ms": weights})
    run(config | ({"collectors": {**config["collectors"], **collectors}} if acting == "collectors" else {}))
    found = [rollout[0] for rollout in rewards]
    assert all(set(rollout) == {rollout[0]} for rollout in rewards), "a rollout has one weight"
    # of 50 ms a step
    assert found == sorted(found) and set(found) == {-1.0, 1.0, 2.0}
    later = 0 if acting == "in_turn" else 1
    assert found[:5] == [-1.0] * 5 and found[5 + later] == 1.0
    assert found[12 + later] == 2.0


@pytest.mark.parametrize("vector_env", ["in_process", "workers"])
def test_every_source_weighs_rewards(tmp_path, monkeypatch, vector_env):
    rewards = rewards_of(monkeypatch)
    weights = [[0, 0.0], [100, 0.02]]
    run(races(tmp_path, vector_env=vector_env, env_args={**ONLY_TIME, "constant_reward_per_ms": weights}))
    found = [rollout[0] for rollout in rewards]
    assert found[:5] == pytest.approx([0.0, 0.08, 0.16, 0.24, 0.32]) and found[-1] == 1.0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("env_args: {constant_reward_per_ms: 2000}", "constant_reward_per_ms=2000: it must be at most 1000"),
        ("env_args: {constant_rewards: 1}", "'?env_args.constant_rewards'? is no key of this run.*per_ms"),
        ("env_args: {gears: 3}", "'?env_args.gears'? is read at the start of a run only"),
        ("env_args: 3", "'?env_args'? is read at the start of a run only"),
    ],
)
def test_bad_weights_are_reported(tmp_path, caplog, content, reason):
    import re

    config = races(tmp_path, env_args={})
    args = make_args(**config)
    live = LiveChanges({"": LiveConfig(args, start_schedules(args), [])}, tmp_path / "live.yaml", CONSOLE)
    (tmp_path / "live.yaml").write_text(content)
    with caplog.at_level("WARNING"):
        live.before_rollout(10, RecordingLogger())
    assert re.search(reason, caplog.text)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("constant_reward_per_ms", [[0, 1], [100, 2000]], "env_args.constant_reward_per_ms=.*at most 1000"),
        ("constant_reward_per_ms", [[0, "a"]], "env_args.constant_reward_per_ms=.*A point of a schedule"),
        ("grip", [[0, 1.0], [100, 2.0]], "env_args.grip"),
    ],
)
def test_bad_schedules_of_weights_are_refused(tmp_path, key, value, reason):
    with pytest.raises(ConfigError, match=reason):
        run(races(tmp_path, env_args={key: value}))


def test_teams_have_their_own_keys(tmp_path, monkeypatch):
    folder, seen = Path(tmp_path, "runs", "mine"), []

    def notice(loop):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "live.yaml").write_text("teams: {trucks: {lr: 0.25}}\ntest_interval: 77")
        rates = {team.name: team.learner.args.lr for team in loop.parts.teams}
        seen.append((rates, loop.args.test_interval))

    watched(monkeypatch, notice)
    teams = {"drones": {**DRONES, "lr": 0.5}, "trucks": {"config": "vdn", "lr": 0.5}}
    run(config_of(tmp_path, "episodes", teams=teams, run_name="mine"))
    assert seen[0][0] == {"drones": 0.5, "trucks": 0.5}
    assert seen[-1] == ({"drones": 0.5, "trucks": 0.25}, 77)
