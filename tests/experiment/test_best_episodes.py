"""The best episodes of a run: found by runners, kept in its folder, and driven again."""

import json
import logging

import numpy as np
import pytest

from checkpoints.tree import load_tree, save_tree
from cli.compose import compose_config
from components.joined_episodes import JoinedEpisode
from envs.racing.batch import BatchedRaces
from envs.racing.rerun import driven_best, driven_from, replay_best
from experiment.best_episodes import SavedBestEpisodes
from helpers import make_args
from race_tasks import accelerate_only
from records import best_episodes as records
from records.best_episodes import array_of, record_of
from records.layout import BEST_EPISODE
from records.logger import Logger
from replays.reader import read_replay
from run import run
from runners.best_episodes import BestEpisodes
from utils.errors import ConfigError

RUNS = {
    "rollout": ("iqn", {"runner": "rollout", "rollout_steps": 7, "buffer_min": 10**4}),
    "ahead": ("iqn", {"runner": "rollout", "rollout_steps": 7, "buffer_min": 10**4, "collection": "async"}),
    "episodes": ("iql", {"runner": "batched", "batch_size": 3, "buffer_size": 3}),
    "continuous": ("iql", {"runner": "episodes_continuous", "batch_size": 3, "buffer_size": 3}),
}


ONLY_FORWARD = """
import multiprocessing

from envs.racing.batch import BatchedRaces

make = BatchedRaces.__init__


def narrowed(self, *arguments, **options):
    make(self, *arguments, **options)
    self.outputs.legal[..., 3:] = 0


if multiprocessing.parent_process() is not None:
    BatchedRaces.__init__ = narrowed
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", RUNS)
def test_the_fastest_race_of_each_map_is_driven_again_bit_for_bit(kind, tmp_path, monkeypatch):
    driven, races_of = {}, {}
    place, step = BatchedRaces._place, BatchedRaces.step

    def beginning(self, which):
        for b in np.flatnonzero(which).tolist():
            races_of[id(self), b] = []
        return place(self, which)

    def stepping(self, actions):
        playing = self.state.race["ended"] == 0
        outputs = step(self, actions)
        for b in np.flatnonzero(playing).tolist():
            races_of[id(self), b].append(self.state.cars[b].copy())
            if outputs.terminated[b]:
                driven.setdefault(self.map_of(b), []).append(races_of[id(self), b])
        return outputs

    accelerate_only(monkeypatch)
    monkeypatch.setattr(BatchedRaces, "_place", beginning)
    monkeypatch.setattr(BatchedRaces, "step", stepping)
    algorithm, settings = RUNS[kind]
    config = compose_config(algorithm, "racing").config
    config["env_args"] |= {"metres": 60.0, "zones_ahead": 2, "map_cycle": ["seeds:1-2"], "time_limit": 300}
    config |= {"batch_size_run": 3, "t_max": 2000, "seed": 1, "rnn_hidden_dim": 8, "test_interval": 1000, **settings}
    config |= {"local_results_path": str(tmp_path), "save_model": True, "test_nepisode": 2, "epsilon_finish": 1.0}
    run(config)
    folders = {path.name: path for path in tmp_path.glob("runs/*/best_episodes/*")}
    assert set(folders) == {"track_1", "track_2"}
    for name, folder in folders.items():
        record, actions = record_of(folder), array_of(folder, "actions")
        assert record["name"] == name and record["restart"]["track"] == name
        assert (folder / "agent.th").is_file() and (array_of(folder, "q_values") is not None) == (algorithm == "iqn")
        again = driven_best(folder)
        assert again.state.race["ended"][0] == 1 and again.state.cars["race_ms"][0, 0] == record["least"]
        times = [race[-1]["race_ms"][0] for race in driven[name]]
        assert record["least"] == min(times) and len(times) > 1
        fastest = next(race for race in driven[name] if race[-1]["race_ms"][0] == record["least"])
        assert len(actions) == len(fastest)
        for t in (1, len(fastest) // 2, len(fastest)):
            assert driven_best(folder, t).state.cars[0].tobytes() == fastest[t - 1].tobytes()
        replay = read_replay(replay_best(folder, tmp_path / "replays"))
        assert replay.header["algorithm"]["name"] == algorithm
        assert replay.header["scene"]["road"] and replay.header["scene"]["title"] == name
        assert replay.footer["info"]["race_time"] == record["least"] and replay.footer["terminated"]
        assert [step["actions"] for step in replay.steps[:-1]] == actions[..., 0].tolist()
        assert (replay.steps[0]["q_values"] is None) == (algorithm != "iqn")
        for unit, t in ((step["snapshot"]["units"][0], step["t"]) for step in replay.steps[1:]):
            assert unit["metres"] == pytest.approx(fastest[t - 1]["metres"][0], rel=1e-6)
            assert unit["x"] == pytest.approx(fastest[t - 1]["x"][0], rel=1e-6)
        assert driven_from(replay).state.cars[0].tobytes() == fastest[-1].tobytes()
    _record_as(folder, least=record["least"] + 10)
    with pytest.raises(ConfigError, match=rf"driven again, the race takes {record['least']} ms; it took"):
        replay_best(folder, tmp_path / "changed")
    assert not (tmp_path / "changed").exists()


def _record_as(folder, **changes):
    path = folder / BEST_EPISODE
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.slow
def test_collectors_bring_the_fastest_races(tmp_path):
    """Cars can only finish in their processes: those of the run's own have no help from the plugin."""
    plugin = tmp_path / "only_forward.py"
    plugin.write_text(ONLY_FORWARD)
    config = compose_config("iqn", "racing").config
    config["env_args"] |= {"metres": 60.0, "zones_ahead": 2, "time_limit": 300}
    config |= {"runner": "collectors", "batch_size_run": 3, "t_max": 1500, "seed": 1, "rnn_hidden_dim": 8}
    config |= {"rollout_steps": 7, "buffer_min": 10**4, "epsilon_finish": 1.0, "test_interval": 10**6}
    config |= {"local_results_path": str(tmp_path), "plugins": [str(plugin)], "test_nepisode": 1}
    run(config)
    (folder,) = tmp_path.glob("runs/*/best_episodes/track_1")
    record = record_of(folder)
    assert record["test"] is False and 0 < record["t_env"] <= 1600
    again = driven_best(folder)
    assert again.state.race["ended"][0] == 1 and again.state.cars["race_ms"][0, 0] == record["least"]
    assert len(array_of(folder, "q_values")) == len(array_of(folder, "actions"))


def test_nothing_is_kept_where_it_is_off(tmp_path, monkeypatch):
    accelerate_only(monkeypatch)
    config = compose_config("iql", "racing").config
    config["env_args"] |= {"metres": 60.0, "zones_ahead": 2, "time_limit": 300}
    config |= {"runner": "batched", "batch_size_run": 3, "batch_size": 3, "buffer_size": 3, "t_max": 1000, "seed": 1}
    run({**config, "local_results_path": str(tmp_path), "save_best_episodes": False, "epsilon_finish": 1.0})
    assert not list(tmp_path.glob("runs/*/best_episodes"))


class Models:
    def save_models(self, path):
        with open(f"{path}/agent.th", "w") as file:
            file.write("weights")


def saved(tmp_path, **changes):
    args = make_args(
        local_results_path=str(tmp_path), unique_token="t", env="racing", env_args={"metres": 60.0}, seed=1, **changes
    )
    return SavedBestEpisodes(args, Models(), Logger(logging.getLogger("test.best_episodes")))


def episode(least, name="a", **values):
    values = {"actions": np.full((4, 1, 1), least), **values}
    return {"name": name, "least": least, "restart": {"track": name}, "t_env": 7, "test": True, "values": values}


def test_a_slower_race_replaces_nothing_in_a_resumed_run_either(tmp_path):
    folder = tmp_path / "runs" / "t" / "best_episodes" / "a"
    saved(tmp_path, save_model=False).keep([episode(100), episode(110)])
    assert record_of(folder)["least"] == 100 and sorted(path.name for path in folder.iterdir()) == [
        "actions.npy",
        "best_episode.json",
    ]
    resumed = saved(tmp_path, save_model=True)
    resumed.keep([episode(101), episode(100)])
    assert not (folder / "agent.th").exists()
    resumed.keep([episode(90, q_values=np.ones((4, 1, 2)))])
    assert record_of(folder) == json.loads((folder / "best_episode.json").read_text())
    assert record_of(folder) | {"least": 90, "t_env": 7, "test": True, "seed": 1} == record_of(folder)
    assert (array_of(folder, "actions") == 90).all() and array_of(folder, "q_values").shape == (4, 1, 2)
    assert (folder / "agent.th").is_file() and [path.name for path in folder.parent.iterdir()] == ["a"]


def test_what_the_environment_wants_kept_is_beside_it(tmp_path):
    folder = tmp_path / "runs" / "t" / "best_episodes" / "a"
    files = {"race.inputs": "0.00-0.15 press up\n", "positions": np.eye(3)}
    saved(tmp_path, save_model=False).keep([episode(100) | {"files": files}])
    assert (folder / "race.inputs").read_text() == "0.00-0.15 press up\n"
    assert (array_of(folder, "positions") == np.eye(3)).all()


def test_their_number_is_bounded(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(records, "MOST", 2)
    keeper = saved(tmp_path, save_model=False)
    with caplog.at_level("WARNING"):
        keeper.keep([episode(100, name) for name in "abc"])
        keeper.keep([episode(90, name) for name in "bcd"])
    assert caplog.text.count("the best episodes of c, and of others that follow, are not kept") == 1
    assert caplog.text.count("are not kept") == 1
    folder = tmp_path / "runs" / "t" / "best_episodes"
    assert {path.name: record_of(path)["least"] for path in folder.iterdir()} == {"a": 100, "b": 90}


def test_one_that_was_being_replaced_when_the_process_died_is_found(tmp_path):
    saved(tmp_path, save_model=False).keep([episode(100)])
    folder = tmp_path / "runs" / "t" / "best_episodes" / "a"
    folder.rename(folder.with_name(".a.replaced"))
    assert record_of(folder)["least"] == 100 and (array_of(folder, "actions") == 100).all()
    saved(tmp_path, save_model=False).keep([episode(110)])
    assert record_of(folder)["least"] == 100


def test_a_full_disk_is_a_warning(tmp_path, caplog):
    (tmp_path / "runs" / "t").mkdir(parents=True)
    (tmp_path / "runs" / "t" / "best_episodes").write_text("no folder")
    saved(tmp_path, save_model=False).keep([episode(100)])
    assert "could not be saved" in caplog.text


def test_other_folders_have_no_race(tmp_path):
    with pytest.raises(ConfigError, match="no race"):
        driven_best(tmp_path)


class Ends:
    """Instead of joining: the episodes that end are those that are asked for."""

    def take(self, batch, only):
        return [JoinedEpisode(*place, True, {"actions": np.full((3, 1, 1), place[0])}) for place in sorted(only)]

    def state_dict(self):
        return {"earlier": [], "begin": None}

    def load_state_dict(self, state):
        pass


def test_what_an_info_declares_must_be_of_use(caplog):
    """A name could lead out of the run's folder, and values without an order ended the run."""
    best = BestEpisodes({"actions": {"kind": "action"}})
    best.joined = Ends()
    good = {"name": "a", "least": 9, "restart": {}}
    bad = [{"name": name} for name in ("../a", "a/b", "/a", "", ".", "..", 7, "\n", "x" * 300)]
    bad += [{"least": least} for least in ("9", None, float("nan"), -np.inf, np.arange(2))]
    bad += [{"restart": restart} for restart in (None, [], {"track": object()})]
    names = ("../a", "a/b", "", "actions", "agent.th", "best_episode.json", "a.npy", 7)
    bad += [{"files": {name: "text"}} for name in names]
    bad += [{"files": {"a": content}} for content in (None, b"", [1], np.array([object()]), "x" * (2**24 + 1))]
    bad += [{"files": "race.inputs"}]
    infos = {(0, row): {"best_of": {**good, **changes}} for row, changes in enumerate(bad)}
    infos |= {(1, 0): {"best_of": 5}, (1, 1): {"best_of": np.arange(2)}, (1, 2): {"best_of": {}}}
    best.take(None, infos, 30, test=False)
    assert best.fetch() == []
    assert "best_of={'name': '../a'" in caplog.messages[0]
    best.take(None, {(0, 5): {"best_of": good}}, 30, test=False)
    assert [found["name"] for found in best.fetch()] == ["a"]


def test_runners_hand_out_what_beats_all_before_once(tmp_path):
    best = BestEpisodes({"actions": {"kind": "action"}})
    best.joined = Ends()
    ends = {"name": "a", "restart": {}}
    infos = {(0, 5): {"best_of": {**ends, "least": 9}}, (1, 5): {"best_of": {**ends, "least": 8}}, (2, 5): {}}
    best.take(None, infos, 30, test=False)
    save_tree(best.state_dict(), tmp_path / "state")
    resumed = BestEpisodes({"actions": {"kind": "action"}})
    resumed.joined = Ends()
    resumed.load_state_dict(load_tree(tmp_path / "state"))
    for one in (best, resumed):
        (found,) = one.fetch()
        assert (found["least"], found["t_env"], found["test"]) == (8, 30, False)
        assert found["values"]["actions"].tolist() == [[[1]], [[1]]]
        one.take(None, infos, 40, test=False)
        assert one.fetch() == []
        one.take(
            None,
            {(2, 1): {"best_of": {**ends, "least": 7}}, (0, 1): {"best_of": {**ends, "name": "b", "least": 50}}},
            50,
            True,
        )
        assert [(found["name"], found["least"]) for found in one.fetch()] == [("b", 50), ("a", 7)]
