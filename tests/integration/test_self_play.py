"""Self-play: groups that learn against past models, and their win rates."""

import json
from pathlib import Path

import pytest
import torch as th
from killed_runs import resumes_exactly

from collection.opponents.self_play import SelfPlay
from controllers.teams import TeamControllers
from experiment.teams import Member
from forked import run_command
from run import run
from team_runs import alone, config_of
from trees import differences
from utils.errors import ConfigError

pytestmark = [pytest.mark.usefixtures("team_parts"), pytest.mark.slow]

POOL = {"opponents": "pool", "opponent_interval": 40, "opponent_pool": 2, "opponent_nepisode": 3}
PPO = {"minibatches": 1, "lr": 0.01, "critic_lr": 0.01, "batch_size_run": 4}
TWO = {"red": {"config": "ippo", **PPO}, "blue": {"config": "mappo", **PPO}}
for own in TWO.values():
    del own["batch_size_run"]
ALONE = {"rollout": "ippo", "episodes": "vdn"}


@pytest.fixture
def seen(monkeypatch):
    """Of each rollout, the groups that learn, and the rows that each team got."""
    rollouts, learns_from = [], Member.learns_from

    def listen(self, batch, learning):
        part = learns_from(self, batch, learning)
        rollouts.append((learning, self.name, None if part is None else part.batch_size))
        return part

    monkeypatch.setattr(Member, "learns_from", listen)
    return rollouts


@pytest.mark.parametrize(("runner", "algorithm"), ALONE.items())
def test_one_set_of_weights_plays_both_sides(tmp_path, logged, seen, runner, algorithm):
    run(alone(tmp_path, "duel", algorithm, runner=runner, t_max=250, save_model=True, **POOL, **PPO))
    rows = {(frozenset(learning), count) for learning, _, count in seen}
    assert rows == {(frozenset({"red", "blue"}), 8), (frozenset({"red"}), 4), (frozenset({"blue"}), 4)}
    for key in ("test_win_rate_past_1", "test_win_rate_past_2", "test_win_rate_pool"):
        assert logged[key] and all(0 <= rate <= 1 for rate in logged[key])
    assert logged["test_win_rate_past_1"][0] == logged["test_win_rate_pool"][0]
    assert "test_win_rate_past_3" not in logged and len(logged["test_return_mean"]) == len(logged["test_win_rate_pool"])
    # of the past, only the pool's models stay on disk
    (pool,) = tmp_path.glob("models/*/pool")
    assert len(list(pool.iterdir())) == 2
    assert all((step / "agent.th").is_file() for step in pool.iterdir())


@pytest.mark.parametrize("runner", ["rollout", "episodes"])
def test_each_team_has_its_own_past(tmp_path, logged, seen, monkeypatch, runner):
    config = alone(tmp_path, "duel", "vdn", runner=runner, t_max=200, save_model=True, teams=TWO, **POOL)
    run(config)
    assert {(frozenset(learning), team, count) for learning, team, count in seen} == {
        *((frozenset({"red", "blue"}), team, 2) for team in TWO),
        *((frozenset({team}), team, 2) for team in TWO),
        (frozenset({"red"}), "blue", None),
        (frozenset({"blue"}), "red", None),
    }
    for team in TWO:
        assert logged[f"{team}/test_win_rate_pool"] and logged[f"{team}/test_return_past_2"]
        assert list(tmp_path.glob(f"models/*/pool/*/{team}/agent.th"))
    # a fixed opponent, the model of the run before
    folder = next(tmp_path.glob("models/*/pool"))
    newest = max(folder.iterdir(), key=lambda path: int(path.name))
    played, draw = [], SelfPlay.draw

    def listen(self, t_env):
        draw(self, t_env)
        for team in TWO:
            for group, mac in self._acting.teams[team].stand_ins.items():
                played.append((group, {key: value.clone() for key, value in mac.agent.state_dict().items()}))

    monkeypatch.setattr(SelfPlay, "draw", listen)
    logged.clear()
    fixed = {"opponent_models": [str(folder)], "opponent_pool": 0, "opponent_newest": 0.0}
    run({**config, **fixed, "local_results_path": str(tmp_path / "second")})
    assert {team for team, _ in played} == set(TWO)
    for team, weights in played:
        assert differences(weights, dict(th.load(newest / team / "agent.th"))) == []
    assert logged["red/test_win_rate_fixed_1"] == logged["red/test_win_rate_pool"]
    assert "red/test_win_rate_past_1" not in logged


def test_the_past_is_what_the_model_was(tmp_path, monkeypatch):
    """The first rollout is played by the weights of the start, and so is every later one by that member of the pool."""
    members, draw = [], SelfPlay.draw

    def listen(self, t_env):
        draw(self, t_env)
        newest = [x.clone() for x in self._mac.teams["blue"].mac.parameters()]
        stand_in = self._acting.teams["blue"].stand_ins.get("blue")
        members.append((newest, stand_in and [x.clone() for x in stand_in.parameters()], self._playing.get("blue")))

    monkeypatch.setattr(SelfPlay, "draw", listen)
    run(alone(tmp_path, "duel", "vdn", runner="rollout", t_max=160, teams=TWO, **{**POOL, "opponent_interval": 10**6}))
    same = lambda one, other: all(th.equal(x, y) for x, y in zip(one, other, strict=True))  # noqa: E731
    first = members[0][0]
    played = [stand_in for _, stand_in, name in members if name is not None]
    assert played and all(name == "0" for *_, name in members if name is not None)
    assert all(same(stand_in, first) for stand_in in played)
    assert not same(members[-1][0], first)


def test_normal_tests_are_played_by_the_newest_models(tmp_path, monkeypatch):
    stood_in, decide = {True: set(), False: set()}, TeamControllers.decide

    def listen(self, batch, t, t_env, rows=slice(None), test_mode=False):
        stood_in[test_mode].add(any(team.stand_ins for team in self.teams.values()))
        return decide(self, batch, t, t_env, rows, test_mode)

    monkeypatch.setattr(TeamControllers, "decide", listen)
    changes = {**POOL, "opponent_nepisode": 0, "opponent_newest": 0.0}
    run(alone(tmp_path, "duel", "ippo", runner="rollout", t_max=300, **changes, **PPO))
    assert stood_in == {True: {False}, False: {True}}


def test_a_group_that_is_taken_over_has_no_memory(tmp_path, monkeypatch):
    """In the middle of an episode, too; all others keep theirs."""
    taken, draw, learns_from = [], SelfPlay.draw, Member.learns_from

    def note(self, t_env):
        draw(self, t_env)
        taken.append(self._acting.taken_over)

    memory = {True: [], False: []}

    def listen(self, batch, learning):
        for group in ("red", "blue"):
            memory[group in taken[-1]].append(bool(batch[f"{group}/hidden_before"].any()))
        return learns_from(self, batch, learning)

    monkeypatch.setattr(SelfPlay, "draw", note)
    monkeypatch.setattr(Member, "learns_from", listen)
    run(alone(tmp_path, "duel", "ippo", runner="rollout", t_max=600, **POOL, **PPO))
    assert len(memory[True]) >= 5 and not any(memory[True])
    assert memory[False].count(True) >= 5


def test_testing_against_opponents_changes_nothing_else(tmp_path, logged):
    runs = []
    for k, nepisode in enumerate((0, 3)):
        logged.clear()
        changes = {**POOL, "opponent_nepisode": nepisode, "opponent_newest": 0.0}
        run(alone(tmp_path / str(k), "duel", "ippo", runner="rollout", t_max=300, **changes, **PPO))
        runs.append({key: list(values) for key, values in logged.items()})
    new = set(runs[1]) - set(runs[0])
    assert new == {f"test_{what}_{who}" for what in ("win_rate", "return") for who in ("past_1", "past_2", "pool")}
    kept = {key: values for key, values in runs[1].items() if not key.startswith("test_") and key not in new}
    assert kept == {key: values for key, values in runs[0].items() if not key.startswith("test_")}


@pytest.mark.parametrize(("teams", "prefix"), [({}, ""), (TWO, "red/")], ids=["one team", "two teams"])
def test_learning_shows_in_win_rates_against_the_past(tmp_path, logged, teams, prefix):
    """The larger sum of actions wins: a model that has learned beats the untrained one, and draws with itself."""
    changes = {**POOL, "opponent_interval": 10**6, "opponent_nepisode": 60, "test_interval": 1500, "t_max": 3000}
    changes |= {"test_greedy": False, "lr": 0.005, "rnn_hidden_dim": 32, "batch_size_run": 16, "critic_lr": 0.005}
    run(alone(tmp_path, "duel", "ippo", runner="rollout", teams=teams, rollout_steps=8, minibatches=2, **changes))
    rates = logged[f"{prefix}test_win_rate_past_1"]
    assert rates[0] < 0.75
    assert rates[-1] > 0.9
    assert logged[f"{prefix}test_return_past_1"][-1] > 3


@pytest.mark.parametrize("teams", [{}, TWO], ids=["one team", "two teams"])
def test_ratings_are_logged_beside_win_rates_and_resume(tmp_path, teams):
    pytest.importorskip("openskill", reason="pip install -r requirements-ratings.txt")
    config = alone(tmp_path, "duel", "vdn", runner="episodes", t_max=200, teams=teams, **POOL)
    config |= {"vector_env": "in_process", "test_interval": 50, "opponent_ratings": True}
    config |= {"learner_log_interval": 5, "test_greedy": False}
    stats = resumes_exactly(tmp_path, config, "ratings", interval=13)["stats"]
    for team in teams or [""]:
        rated = {key.removeprefix(f"{team}/") for key in stats if key.startswith(f"{team}/".lstrip("/"))}
        assert {"test_rating", "test_rating_sigma", "test_rating_past_1", "test_rating_sigma_past_2"} <= rated
        deviations = [value for _, value in stats[f"{team}/test_rating_sigma_past_1".lstrip("/")]]
        assert all(0 < deviation < 25 / 3 for deviation in deviations)


def test_ratings_need_their_package(tmp_path, monkeypatch):
    monkeypatch.setattr("collection.opponents.ratings.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"opponent_ratings needs the package 'openskill'.*requirements-ratings.txt"):
        run(alone(tmp_path, "duel", "vdn", runner="episodes", opponent_ratings=True, **POOL))
    assert list(tmp_path.rglob("*.csv")) == []


@pytest.mark.parametrize(
    ("runner", "changes"),
    [
        ("rollout", {"teams": TWO}),
        ("episodes", {"config": "vdn", "collection": "async"}),
        ("rollout", {"teams": TWO, "opponents": "prioritised", "opponent_newest": 0.2}),
    ],
    ids=["rollout-two", "ahead-one", "prioritised"],
)
def test_killed_runs_end_as_undisturbed_ones(tmp_path, runner, changes):
    changes = dict(changes)
    algorithm = changes.pop("config", "vdn")
    config = alone(tmp_path, "duel", algorithm, runner=runner, t_max=200, learner_log_interval=5, **POOL)
    config |= changes
    config |= {"vector_env": "in_process", "test_greedy": False, "test_interval": 50, "minibatches": 1}
    config["save_model"] = True
    outcome = resumes_exactly(tmp_path, config, runner, interval=13)
    assert any("test_win_rate_pool" in key for key in outcome["stats"])
    assert pool_on_disk(tmp_path / "a") == pool_on_disk(tmp_path / "b") != {}


def pool_on_disk(folder):
    """The files of the newest run's pool and their contents."""
    pool = max(folder.glob("results/models/*/pool"), key=lambda path: path.stat().st_mtime)
    return {str(path.relative_to(pool)): path.read_bytes() for path in pool.rglob("*.th")}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"opponents": "pol"}, ["opponents=pol", "pool"]),
        ({"opponents": "prioritised", "opponent_weighting": "hrd"}, ["opponent_weighting=hrd", "hard"]),
        ({"opponents": "prioritised", "opponent_pool": 0}, ["opponents=prioritised with opponent_pool=0"]),
        ({"opponent_pol": 3}, ["opponent_pol", "opponent_pool"]),
        ({"opponent_newest": 1.5}, ["opponent_newest=1.5", "between 0 and 1"]),
        ({"opponent_pool": 0}, ["opponent_pool=0", "no opponent_models"]),
        ({"opponent_models": ["nowhere"]}, ["opponent_models=nowhere", "there is no such folder"]),
        ({"runner": "episodes_continuous"}, ["runner=episodes_continuous", "runner=episodes or runner=rollout"]),
        ({"runner": "batched", "batched_mode": "continuous"}, ["batched_mode=continuous"]),
        ({"env": "scouts", "mixer": None}, ["opponents=pool needs two groups", "env=scouts has one group"]),
        ({"env": "two_step", "runner": "episodes"}, ["opponents=pool needs two groups", "env=two_step has one group"]),
        ({"teams": {"both": {"groups": ["red", "bleu"]}}}, ["teams.both", "no group bleu", "blue"]),
        (
            {"teams": {"all": {"groups": ["red", "blue"], "config": "ippo", "normalise_rewards": True}}},
            ["teams.all: normalise_rewards=True does not go with opponents=pool"],
        ),
        (
            {"teams": {"all": {"groups": ["red", "blue"], "config": "mappo", "critic_rnn": True}}},
            ["teams.all: critic_rnn=True does not go with opponents=pool"],
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_what_cannot_play_itself_is_refused(tmp_path, changes, words):
    with pytest.raises(ConfigError) as refusal:
        run({**alone(tmp_path, "duel", "vdn", runner="episodes", **POOL), **changes})
    assert all(word in str(refusal.value) for word in words), str(refusal.value)
    assert list(tmp_path.rglob("*.csv")) == []


def test_a_team_cannot_play_itself_against_a_frozen_one(tmp_path):
    run(alone(tmp_path, "duel", "vdn", runner="episodes", save_model=True, teams={"red": {}, "blue": {}}))
    path = str(next(Path(tmp_path).glob("models/*")))
    teams = {"red": {}, "past": {"groups": ["blue"], "checkpoint_path": path, "frozen": True}}
    with pytest.raises(ConfigError, match="needs two groups or more that learn; there is red only, and the team past"):
        run(alone(tmp_path, "duel", "vdn", runner="episodes", teams=teams, **POOL))


def test_groups_that_differ_need_teams(tmp_path):
    with pytest.raises(ConfigError, match=r"drones and trucks differ in size .* Give each its own team"):
        run({**config_of(tmp_path, "episodes", {}), **POOL})


def test_teams_and_opponents_from_the_command_line(tmp_path):
    plugin = Path(__file__).parents[1] / "support" / "convoy_plugin.py"
    words = ["--config", "vdn", "--env-config", "two_step", "with", "env=duel", f"plugins={plugin}", "runner=episodes"]
    words += ["t_max=60", "test_nepisode=2", "seed=1", "opponents=pool", "teams.red.config=qmix", "teams.red.lr=0.01"]
    done = run_command(*words, "teams.blue.gamma=0.9", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "results" / "sacred" / "1" / "info.json").read_text())
    assert len(record["red/test_win_rate_pool"]) == len(record["blue/test_win_rate_past_1"]) > 0
    config = json.loads((tmp_path / "results" / "sacred" / "1" / "config.json").read_text())
    assert (config["teams"]["red"]["lr"], config["teams"]["blue"]["gamma"]) == (0.01, 0.9)
    done = run_command(*words, "teams.blue.gama=0.9", cwd=tmp_path)
    assert done.returncode == 2
    assert "teams.blue: gama is not a key of a team. Did you mean 'gamma'?" in done.stderr
