"""Runs recorded in MongoDB, too, with a stand-in for the server: what is there, and that nothing depends on it."""

import logging
import sys
import time
from pathlib import Path

import gridfs
import mongomock
import mongomock.gridfs
import pymongo
import pytest
from sacred import Experiment

from records import sacred_mongo
from records.sacred_mongo import mongo_recorder, without_secrets
from utils.config.merging import default_config
from utils.errors import ConfigError

CONSOLE = logging.getLogger("test")
URL = "mongodb://localhost:27017/lab"


@pytest.fixture
def server():
    """The database that clients connect to while the test runs."""
    mongomock.gridfs.enable_gridfs_integration()
    with mongomock.patch(servers=[("localhost", 27017)]):
        yield pymongo.MongoClient("localhost", 27017)["lab"]


def recorder(url=URL, **changes):
    return mongo_recorder({**default_config(), "mongo_url": url, **changes}, CONSOLE)


def experiment(observer, result=3, values=3):
    """An experiment that logs and prints, as a run does."""
    made = Experiment("test", save_git_info=False)
    made.add_config({"seed": 5, "lr": 0.1})
    made.observers.append(observer)

    @made.main
    def main(_run):
        _run.info["unique_token"] = "run_1"
        for t in range(values):
            _run.info.setdefault("loss", []).append(t / 2)
            _run.info.setdefault("loss_T", []).append(t)
            _run.log_scalar("loss", t / 2, t)
        return result

    return made


def test_a_run_is_in_the_database(server):
    experiment(recorder()).run()
    (run,) = server["runs"].find()
    assert (run["_id"], run["status"], run["result"]) == (1, "COMPLETED", 3)
    assert (run["config"]["lr"], run["info"]["unique_token"]) == (0.1, "run_1")
    assert (run["info"]["loss"], run["info"]["loss_T"]) == ([0, 0.5, 1], [0, 1, 2])
    (metric,) = server["metrics"].find()
    assert (metric["run_id"], metric["name"], metric["steps"], metric["values"]) == (1, "loss", [0, 1, 2], [0, 0.5, 1])
    assert run["info"]["metrics"] == [{"name": "loss", "id": str(metric["_id"])}]
    sources = {name.rpartition("/")[2]: number for name, number in run["experiment"]["sources"]}
    assert gridfs.GridFS(server).get(sources["test_sacred_mongo.py"]).read() == Path(__file__).read_bytes()
    experiment(recorder()).run()
    assert [run["_id"] for run in server["runs"].find()] == [1, 2]


def test_long_series_and_outputs_are_short_there(server, monkeypatch):
    monkeypatch.setattr(sacred_mongo, "LONGEST_OUTPUT", 10)
    made = experiment(recorder(), values=5000)
    made.captured_out_filter = lambda text: "x" * 50 + "the end"
    made.run()
    (run,) = server["runs"].find()
    assert len(run["info"]["loss"]) == len(run["info"]["loss_T"]) < 1002
    assert (run["info"]["loss_T"][0], run["info"]["loss_T"][-1]) == (0, 4999)
    assert run["captured_out"] == "xxxthe end"
    assert server["metrics"].find_one()["steps"] == run["info"]["loss_T"]


def test_the_files_come_first_and_give_the_id(server, tmp_path):
    from records.sacred_files import RunRecorder

    made = experiment(recorder())
    made.observers.append(RunRecorder(tmp_path, CONSOLE))
    run = made.run()
    assert run._id == "1"
    assert server["runs"].find_one()["meta"]["files_id"] == "1"
    assert "metrics" not in run.info


@pytest.mark.slow
def test_a_server_that_is_not_there_is_a_warning(monkeypatch, caplog):
    monkeypatch.setattr(sacred_mongo, "TIMEOUT", 50)
    started = time.monotonic()
    url = "mongodb://me:secret@127.0.0.1:9/lab"
    monkeypatch.setenv("MUSTER_MONGO_URL", url)
    run = experiment(recorder("")).run()
    assert (run.status, run.result) == ("COMPLETED", 3)
    messages = [record.message for record in caplog.records if "MongoDB" in record.message]
    assert "cannot be recorded in MongoDB (mongodb://***@127.0.0.1:9/lab): ServerSelectionTimeoutError" in messages[0]
    assert "incomplete" in messages[-1]
    assert len(messages) == 2
    assert "secret" not in caplog.text
    assert time.monotonic() - started < 20


def test_a_server_that_goes_away_and_comes_back(server, monkeypatch, caplog):
    observer = recorder()
    caplog.set_level("INFO")
    made = experiment(observer)

    def beat(run):
        run._emit_heartbeat()

    @made.command
    def outage(_run):
        def gone(*_, **__):
            raise pymongo.errors.AutoReconnect("localhost: connection closed")

        beat(_run)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(observer.runs, "update_one", gone)
            _run.log_scalar("loss", 1.0, 10)
            beat(_run)
            _run.log_scalar("loss", 2.0, 20)
            beat(_run)
        beat(_run)

    made.run("outage")
    assert server["runs"].find_one()["status"] == "COMPLETED"
    assert server["metrics"].find_one()["steps"] == [10, 20]
    messages = [record.message for record in caplog.records if "MongoDB" in record.message]
    assert len(messages) == 2
    assert "AutoReconnect" in messages[0]
    assert "can be written again" in messages[1]


def test_a_server_that_comes_late_has_the_whole_run(server, monkeypatch):
    observer = recorder()
    made = experiment(observer)
    there = pymongo.MongoClient

    def away(*_, **__):
        raise pymongo.errors.ServerSelectionTimeoutError("nobody")

    @made.pre_run_hook
    def comes_late():
        monkeypatch.setattr(pymongo, "MongoClient", there)

    monkeypatch.setattr(pymongo, "MongoClient", away)
    made.run()
    (run,) = server["runs"].find()
    assert (run["status"], run["info"]["loss"]) == ("COMPLETED", [0, 0.5, 1])


def test_without_a_url_there_is_no_observer(monkeypatch):
    monkeypatch.delenv("MUSTER_MONGO_URL", raising=False)
    assert recorder("") is None


@pytest.mark.parametrize(
    "url",
    [
        "mongodb://me:secret@host/lab",
        "mongodb+srv://me:sec/ret@host/lab",
        "mongodb://me:sec@ret@host",
        "mongodb://host/lab?tlsCertificateKeyFilePassword=secret",
    ],
)
def test_passwords_stay_out_of_the_config(url):
    with pytest.raises(ConfigError, match="MUSTER_MONGO_URL") as error:
        recorder(url)
    assert "sec" not in str(error.value).replace("record", "")


@pytest.mark.parametrize(
    "url", ["localhost", "http://host/lab", "mongodb://", "mongodb://host/a/b", "mongodb://h/\x1b"]
)
def test_invalid_urls(url):
    with pytest.raises(ConfigError, match="it is not of the form mongodb://HOST:PORT/DATABASE"):
        recorder(url)


def test_pymongo_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymongo", None)
    with pytest.raises(ConfigError, match=r"requirements-mongo\.txt"):
        recorder()


def test_the_shown_part_of_a_url():
    assert without_secrets("mongodb://u:p@h:1/d?x=y") == "mongodb://***@h:1/d"
    assert without_secrets(URL) == URL
