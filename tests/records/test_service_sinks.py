"""Weights & Biases and MLflow: stand-ins of their documented calls, and the packages where they are installed."""

import json
import logging
import math
import os
import sys
from types import SimpleNamespace

import pytest

from checks import check_config
from records.logger import Logger
from records.mlflow_sink import MlflowSink
from records.sinks import ServiceSink
from records.wandb_sink import WandbSink
from tracking_services import Mlflow, Wandb
from utils.config.merging import default_config
from utils.errors import ConfigError

CONFIG = {"lr": 0.1, "env_args": {"map_name": "3m", "odd key!": 1}, "seed": 1}
CONSOLE = logging.getLogger("test")


def _wandb_sink(folder):
    return WandbSink(str(folder), "token", CONFIG, project="muster", team="", mode="offline", console=CONSOLE)


def test_models_are_among_the_runs_files(monkeypatch, tmp_path):
    """As EPyMARL's wandb_save_model: models/<token>/<step>/, also of a model that was saved before the first value."""
    package = Wandb(tmp_path / "files")
    monkeypatch.setitem(sys.modules, "wandb", package)
    saved = tmp_path / "models" / "token" / "100"
    saved.mkdir(parents=True)
    (saved / "agent.th").write_text("weights")
    for save_model in (False, True):
        arguments = {"project": None, "team": None, "mode": "offline", "save_model": save_model, "console": CONSOLE}
        logger = _logger(WandbSink(str(tmp_path), "token", CONFIG, **arguments), tmp_path)
        logger.keep_model(saved)
        _log(logger, 0, 2)
        logger.keep_model(saved)
        logger.close_sinks(finished=True)
        kept = tmp_path / "files" / "models" / "token" / "100" / "agent.th"
        assert kept.is_file() == save_model
        assert package.runs[-1].arguments["project"] == "muster"


def _mlflow_sink(folder):
    return MlflowSink(str(folder), "token", CONFIG, uri="", experiment="muster", console=CONSOLE)


@pytest.fixture(params=["wandb", "mlflow"])
def service(request, monkeypatch, tmp_path):
    """The stand-in, which makes the sink of a new session with `sink()`."""
    package = Wandb() if request.param == "wandb" else Mlflow()
    monkeypatch.setitem(sys.modules, request.param, package)
    if request.param == "mlflow":
        monkeypatch.setitem(sys.modules, "mlflow.entities", package.entities)
    for name in ("MLFLOW_ALLOW_FILE_STORE", "MLFLOW_DISABLE_TELEMETRY", "WANDB_ERROR_REPORTING"):
        monkeypatch.delenv(name, raising=False)
    package.sink = lambda: (_wandb_sink if request.param == "wandb" else _mlflow_sink)(tmp_path / "results")
    monkeypatch.setattr(ServiceSink, "INTERVAL", 0.0)
    return package


def _logger(sink, folder):
    logger = Logger(CONSOLE)
    logger.setup_metric_log(str(folder / "metrics.csv"))
    logger.add_sink(sink)
    return logger


def _log(logger, first, last):
    for i in range(first, last):
        logger.log_stat("loss", i / 7, 10 * i)
        logger.log_stat("return_mean", i, 10 * i)
        logger.log_stat("return_mean", -i, 10 * i)


def _expected(first, last):
    pairs = [(10 * i, float(value)) for i in range(first, last) for value in (i, -i)]
    return {"loss": [(10 * i, i / 7) for i in range(first, last)], "return_mean": pairs}


def test_every_value_is_there_once(service, tmp_path):
    logger = _logger(service.sink(), tmp_path)
    assert service.runs == []  # made with the first value
    _log(logger, 0, 20)
    logger.close()
    logger.close_sinks(finished=True)
    assert service.values(0) == _expected(0, 20)
    assert len(service.runs) == 1


def test_values_wait_for_the_next_delivery(service, tmp_path, monkeypatch):
    monkeypatch.setattr(ServiceSink, "INTERVAL", 1000.0)
    logger = _logger(service.sink(), tmp_path)
    _log(logger, 0, 1000)
    assert service.runs == []
    logger.flush()
    assert service.values(0) == _expected(0, 1000)  # in several batches


def test_a_resumed_run_starts_a_record_with_the_past_once(service, tmp_path):
    logger = _logger(service.sink(), tmp_path)
    _log(logger, 0, 6)
    state = json.loads(json.dumps(logger.state_dict()))
    _log(logger, 6, 9)  # after the checkpoint: these are lost
    logger = _logger(service.sink(), tmp_path)
    logger.load_state_dict(state)
    _log(logger, 6, 12)
    logger.close_sinks(finished=True)
    assert service.values(0) == _expected(0, 9)
    assert service.values(1) == _expected(0, 12)
    new = service.runs[1]
    assert (new.tags["continues"] if isinstance(service, Mlflow) else new.arguments["notes"]).endswith(
        service.runs[0].info.run_id if isinstance(service, Mlflow) else service.runs[0].id
    )


def test_a_service_that_is_switched_on_later_gets_the_past(service, tmp_path):
    logger = Logger(CONSOLE)
    logger.setup_metric_log(str(tmp_path / "metrics.csv"))
    _log(logger, 0, 3)
    state = logger.state_dict()
    logger = _logger(service.sink(), tmp_path)
    logger.load_state_dict(state)
    logger.close_sinks(finished=True)
    assert service.values(0) == _expected(0, 3)


def test_a_service_that_is_gone_is_reported_once_and_gets_everything_later(service, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(ServiceSink, "FIRST_PAUSE", 0.0)
    service.broken = True
    logger = _logger(service.sink(), tmp_path)
    _log(logger, 0, 4)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "no answer" in caplog.text
    service.broken = False
    _log(logger, 4, 6)
    service.broken = True  # and in the middle
    _log(logger, 6, 9)
    service.broken = False
    logger.close_sinks(finished=True)
    assert service.values(0) == _expected(0, 9)
    assert len(service.runs) == 1


def test_a_service_that_never_answers_is_asked_less_and_less(service, tmp_path, caplog, monkeypatch):
    now, asked = [0.0], []
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    sink = service.sink()
    monkeypatch.setattr(sink, "_begin", lambda: asked.append(now[0]) or 1 / 0)
    logger = _logger(sink, tmp_path)
    for _ in range(1000):
        logger.log_stat("loss", 1, 1)
        logger.flush()
        now[0] += 1.0
    assert asked == [0, 5, 15, 35, 75, 155, 315, 615, 915]
    logger.close_sinks(finished=False)
    assert "1000 values never arrived" in caplog.messages[-1]
    assert len(caplog.messages) == 2


@pytest.mark.parametrize("finished", [True, False])
def test_config_name_and_outcome_are_kept(service, tmp_path, finished):
    logger = _logger(service.sink(), tmp_path)
    logger.log_stat("a stat!", math.inf, 1)
    logger.close_sinks(finished)
    (run,) = service.runs
    if isinstance(service, Mlflow):
        assert run.params == {"lr": "0.1", "env_args.map_name": "3m", "env_args.odd key_": "1", "seed": "1"}
        assert run.name == run.tags["token"] == "token"
        assert run.status == ("FINISHED" if finished else "FAILED")
        assert run.metrics == [("a stat_", 1, math.inf)]
        assert service.uri == (tmp_path / "results").as_uri()
        assert os.environ["MLFLOW_ALLOW_FILE_STORE"] == os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"
    else:
        assert run.arguments["config"] == CONFIG
        assert run.arguments["name"] == run.arguments["group"] == "token"
        assert run.arguments["mode"] == "offline"
        assert run.exit_code == (0 if finished else 1)
        assert run.rows == [{"t_env": 1, "a stat!": math.inf}]
        assert run.metrics == [("t_env", None), ("*", "t_env")]
        assert os.environ["WANDB_ERROR_REPORTING"] == "false"


def _check(**changes):
    check_config({**default_config(), **changes})


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_missing_package_is_refused_with_its_extra(name, monkeypatch, tmp_path):
    (tmp_path / name).mkdir()  # what the service wrote is not the package
    monkeypatch.setattr(sys, "path", [str(tmp_path), *(p for p in sys.path if "site-packages" not in p)])
    with pytest.raises(ConfigError, match=f"use_{name} needs the package '{name}'.*-r requirements-{name}.txt"):
        _check(**{f"use_{name}": True})


def test_an_online_run_needs_a_login(monkeypatch):
    package = Wandb()
    package.__spec__ = SimpleNamespace(origin="wandb/__init__.py")
    monkeypatch.setitem(sys.modules, "wandb", package)
    _check(use_wandb=True)
    with pytest.raises(ConfigError, match="wandb_mode=online: you are not logged in"):
        _check(use_wandb=True, wandb_mode="online")
    package.logged_in = True
    _check(use_wandb=True, wandb_mode="online")
    with pytest.raises(ConfigError, match="wandb_mode=onlin: no such choice"):
        _check(wandb_mode="onlin")


def test_a_password_is_not_recorded():
    with pytest.raises(ConfigError, match="MLFLOW_TRACKING_PASSWORD") as error:
        _check(mlflow_uri="https://ann:secret@host")
    assert "secret" not in str(error.value)


def test_the_real_wandb_writes_files(tmp_path):
    pytest.importorskip("wandb", reason="pip install -r requirements-wandb.txt")
    logger = _logger(_wandb_sink(tmp_path), tmp_path)
    _log(logger, 0, 20)
    logger.close_sinks(finished=True)
    (written,) = (tmp_path / "wandb").glob("offline-run-*/run-*.wandb")
    assert b"return_mean" in written.read_bytes()


def test_the_real_mlflow_writes_files(tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="pip install -r requirements-mlflow.txt")
    logger = _logger(_mlflow_sink(tmp_path / "store"), tmp_path)
    _log(logger, 0, 20)
    logger.log_stat("odd!", math.nan, 7)
    logger.close_sinks(finished=True)
    client = mlflow.MlflowClient(tracking_uri=(tmp_path / "store").as_uri())
    (run,) = client.search_runs([client.get_experiment_by_name("muster").experiment_id])
    found = client.get_metric_history(run.info.run_id, "loss")
    assert [(metric.step, metric.value) for metric in found] == _expected(0, 20)["loss"]
    assert run.info.status == "FINISHED"
    assert run.data.params["env_args.map_name"] == "3m"
