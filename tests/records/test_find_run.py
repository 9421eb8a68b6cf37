"""One meaning of a run's name for --resume, --evaluate and watch.py (see also tests/replays/test_watch.py)."""

import json
import os

import pytest

from checkpoints.resumption import Resumption
from records.find_run import FoundRun, find_run
from results_folders import put, write_checkpoint, write_run
from utils.errors import ConfigError


def sacred(results, number, token, heartbeat, **config):
    info = {"unique_token": token} if token else {}
    write_run(results, number, config={"name": token, **config}, info=info, heartbeat=heartbeat)


# 2026-01-01T00:00:00 UTC
NEW_YEAR = 1767225600.0


@pytest.mark.parametrize(
    ("seconds", "latest"), [(-1.0, "by_sacred"), (1.0, "by_checkpoint"), (None, "by_sacred"), ("late", "by_sacred")]
)
def test_the_latest_is_the_one_that_was_active_last(tmp_path, seconds, latest):
    """Whether Sacred observed it or not, and with any number."""
    sacred(tmp_path, 1, "by_sacred", "2026-01-01T00:00:00")
    sacred(tmp_path, 2, "older", "2025-12-31T23:59:58")
    write_checkpoint(
        tmp_path, "by_checkpoint", "100", time=seconds if not isinstance(seconds, float) else NEW_YEAR + seconds
    )
    write_checkpoint(tmp_path, "older", "100", time=NEW_YEAR - 2)
    assert find_run("latest", tmp_path).token == latest


def test_the_latest_has_trained_and_has_a_name(tmp_path):
    sacred(tmp_path, 1, "trained", "2026-01-01T00:00:00")
    sacred(tmp_path, 2, "played", "2026-01-02T00:00:00", evaluate=True)
    sacred(tmp_path, 3, None, "2026-01-03T00:00:00")
    assert find_run("latest", tmp_path) == FoundRun(tmp_path, "trained", "1")


def test_the_latest_is_the_same_for_resuming(tmp_path):
    """The run that was active last has no checkpoint: no older run is resumed in its stead."""
    write_checkpoint(tmp_path, "older", "100", time=NEW_YEAR - 2)
    sacred(tmp_path, 1, "newest", "2026-01-01T00:00:00")
    (tmp_path / "runs" / "newest").mkdir()
    with pytest.raises(ConfigError, match="newest has no checkpoint to resume from"):
        Resumption.of("latest", tmp_path)


def test_a_checkpoint_that_a_killed_run_had_not_put_in_place_counts(tmp_path):
    write_checkpoint(tmp_path, "older", "100", time=NEW_YEAR - 2)
    write_checkpoint(tmp_path, "killed", ".200.killed.tmp", time=NEW_YEAR)
    assert find_run("latest", tmp_path).token == "killed"


def test_links_are_not_followed_to_the_latest(tmp_path):
    write_checkpoint(tmp_path / "elsewhere", "other", "100", time=NEW_YEAR)
    write_checkpoint(tmp_path, "own", "100", time=NEW_YEAR - 2)
    os.symlink(tmp_path / "elsewhere" / "runs" / "other", tmp_path / "runs" / "link")
    assert find_run("latest", tmp_path).token == "own"


def test_a_sacred_run_before_its_first_heartbeat(tmp_path):
    sacred(tmp_path, 7, None, None)
    with pytest.raises(ConfigError, match="has not started yet"):
        find_run("7", tmp_path)
    write_checkpoint(tmp_path, "seven", "100", time=NEW_YEAR, sacred_id="7")
    assert find_run("7", tmp_path) == FoundRun(tmp_path, "seven", "7")


def test_the_config_of_a_resumed_run_is_that_of_its_last_session(tmp_path):
    for number, t_max in ((2, 100), (10, 200), (9, 150)):
        sacred(tmp_path, number, "again", "2026-01-01T00:00:00", t_max=t_max)
    assert find_run("again", tmp_path).config()["t_max"] == 200
    assert find_run("9", tmp_path).config()["t_max"] == 150


@pytest.mark.parametrize("name", ["..", ".", "../..", ""])
def test_a_path_that_leads_elsewhere_is_no_name(tmp_path, name, monkeypatch):
    (tmp_path / "sacred").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="is not the folder of a run"):
        find_run(name, tmp_path)


def test_a_model_that_comes_with_muster_is_found_where_no_run_has_its_name(tmp_path, monkeypatch):
    """What is made of it goes to the user's results."""
    results, shipped = tmp_path / "results", tmp_path / "docs" / "models"
    put(shipped / "3m" / "best" / "agent.th")
    put(shipped / "3m" / "config.json", json.dumps({"name": "mappo", "lr": 0.25}))
    monkeypatch.setattr("records.find_run.SHIPPED", shipped)
    found = find_run("3m", results)
    assert (found.models, found.results, found.token) == (shipped / "3m", results, "3m")
    assert found.config()["lr"] == 0.25
    with pytest.raises(ConfigError, match=r"which has no runs\. Did you mean '3m'\?"):
        find_run("3mm", results)
    sacred(results, 1, "vdn", "2026-01-01T00:00:00")
    with pytest.raises(ConfigError, match=r"Did you mean '3m'\? Allowed: 3m, latest, vdn"):
        find_run("3mm", results)
    # a run of the user's own wins
    put(results / "models" / "3m" / "10" / "agent.th")
    assert find_run("3m", results) == FoundRun(results, "3m")


@pytest.mark.parametrize("place", ("given", "models/given"))
def test_a_folder_of_models_with_its_config_is_whole(tmp_path, place):
    """Wherever it is, and whatever runs there are; but there is nothing to resume."""
    results, folder = tmp_path / "results", tmp_path / place
    write_run(results, 1, config={"name": "other"}, info={"unique_token": "given"})
    put(folder / "10" / "agent.th")
    put(folder / "config.json", '{"name": "vdn"}')
    for path in (folder, folder / "10"):
        found = find_run(str(path), results)
        assert found == FoundRun(results, "given", given=folder)
        assert found.models == folder and found.config() == {"name": "vdn"} and found.info() == {}
    with pytest.raises(ConfigError, match=rf"no checkpoint, .* with checkpoint_path={folder}\."):
        Resumption.of(str(folder), results)


def test_models_among_results_that_have_no_other_record_have_the_config_beside_them(tmp_path):
    put(tmp_path / "models" / "given" / "10" / "agent.th")
    with pytest.raises(ConfigError, match=r"given: neither Sacred.* and there is no .*models/given/config.json"):
        find_run("given", tmp_path).config()
    put(tmp_path / "models" / "given" / "config.json", '{"name": "vdn"}')
    assert find_run("given", tmp_path).config() == {"name": "vdn"}
