"""Changes while a run is under way: they reach its parts, collectors and teams, or it is said why not."""

from pathlib import Path

import pytest

from cli.compose import compose_config
from records.logger import Logger
from run import run
from small_training import suited
from team_runs import DRONES, config_of
from utils.errors import ConfigError
from watched_training import watch_loop

pytestmark = pytest.mark.slow


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

    watch_loop(monkeypatch, notice)
    run(small(tmp_path, collection="async", epsilon=0.75, kappa=1.0, lr=0.5))
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

    watch_loop(monkeypatch, notice)
    run(small(tmp_path, runner="collectors", epsilon=0.75, runner_log_interval=1, t_max=400))
    assert explored[0] == 0.75
    assert explored[-1] == 0.0


def test_schedules_of_a_config_reach_the_parts(tmp_path, monkeypatch):
    seen = []
    watch_loop(monkeypatch, lambda loop: seen.append((loop.args.lr, loop.parts.teams[0].buffer._buffer.ring.capacity)))
    run(small(tmp_path, lr=[[0, 1.0], [100, 0.5]]) | {"buffer_size": ["staircase", [0, 100], [96, 200]]})
    assert seen[0] == (1.0, 100)
    assert seen[-1] == (0.5, 200)
    assert len({rate for rate, _ in seen}) > 3


def test_a_run_learns_at_linesights_pace(tmp_path, monkeypatch):
    """Uses count from a start that rises, and held-out transitions give none."""
    supplies, updates, logged = [], [], set()
    monkeypatch.setattr(Logger, "log_stat", lambda self, key, *_, **__: logged.add(key))

    def notice(loop):
        supplies.append(loop.parts.teams[0].buffer.supply())
        updates.append(loop.state.updates)

    watch_loop(monkeypatch, notice)
    config = small(tmp_path, t_max=400) | {"replay_pace": "linesight", "samples_per_insert": 2, "batch_size": 8}
    run(config | {"hold_out": 0.4, "buffer_min": ["staircase", [0, 40], [200, 90]], "learner_log_interval": 50})
    assert "loss_test" in logged
    used = should = 0
    for supply, made in zip(supplies, updates, strict=True):
        should += 2 * supply.new
        while supply.held >= supply.start and used + 2 * supply.start <= should:
            used += 8
        assert made == used / 8
    assert {supply.start for supply in supplies} == {40, 90}
    assert updates[-1] > 20 and supplies[-1].held < 400 * 0.9


def test_a_pace_without_uses_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"needs samples_per_insert and buffer=transitions; .* buffer=episodes"):
        run(small(tmp_path, "iql", batch_size_run=1) | {"replay_pace": "linesight"})


def test_sizes_that_would_be_copied_at_every_rollout_are_refused(tmp_path):
    config = small(tmp_path) | {"buffer_size": [[0, 100], [96, 200]]}
    with pytest.raises(ConfigError, match="changes its size, and by a staircase"):
        run(config)


def test_what_cannot_change_says_so(tmp_path, monkeypatch, caplog):
    folder = Path(tmp_path, "runs", "mine")

    def notice(loop):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "live.yaml").write_text("samples_per_insert: 2\nbuffer_size: 50")

    watch_loop(monkeypatch, notice)
    with caplog.at_level("WARNING"):
        run(small(tmp_path, "iql", buffer_size=32, batch_size_run=1, t_max=20))
    assert "the run makes updates_per_rollout" in caplog.text
    assert "only buffer=transitions can change its size" in caplog.text


def test_teams_have_their_own_keys(tmp_path, monkeypatch):
    folder, seen = Path(tmp_path, "runs", "mine"), []

    def notice(loop):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "live.yaml").write_text("teams: {trucks: {lr: 0.25}}\ntest_interval: 77")
        rates = {team.name: team.learner.args.lr for team in loop.parts.teams}
        seen.append((rates, loop.args.test_interval))

    watch_loop(monkeypatch, notice)
    teams = {"drones": {**DRONES, "lr": 0.5}, "trucks": {"config": "vdn", "lr": 0.5}}
    run(config_of(tmp_path, "episodes", teams=teams, run_name="mine"))
    assert seen[0][0] == {"drones": 0.5, "trucks": 0.5}
    assert seen[-1] == ({"drones": 0.5, "trucks": 0.25}, 77)
