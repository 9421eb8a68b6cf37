"""What tracking services get at the end of a run: stand-ins of theirs, and a whole run."""

import logging
import sys
from types import SimpleNamespace

import pytest

from checks import check_config
from experiment import attachments
from experiment.attachments import attach_results
from records.logger import Logger
from records.mlflow_sink import MlflowSink
from records.sinks import Attachment
from records.wandb_sink import WandbSink
from replay_pages import write_replay
from run import run
from small_training import small_config
from tracking_services import Mlflow, Wandb
from utils.config.merging import default_config
from utils.errors import ConfigError

CONSOLE = logging.getLogger("test")
TOKEN = "run+1"


@pytest.fixture(params=["wandb", "mlflow"])
def service(request, monkeypatch, tmp_path):
    """The stand-in, whose sink `logger` has."""
    package = Wandb() if request.param == "wandb" else Mlflow()
    monkeypatch.setitem(sys.modules, request.param, package)
    if request.param == "wandb":
        arguments = {"project": None, "team": None, "mode": "offline", "console": CONSOLE}
        sink = WandbSink(str(tmp_path), TOKEN, {}, **arguments)
    else:
        monkeypatch.setitem(sys.modules, "mlflow.entities", package.entities)
        sink = MlflowSink(str(tmp_path), TOKEN, {}, uri="", experiment="muster", console=CONSOLE)
    package.logger = Logger(CONSOLE)
    package.logger.add_sink(sink)
    package.logger.log_stat("loss", 1.0, 30)
    return package


def args_for(tmp_path, **changes):
    chosen = {"track_model": True, "track_media": True, **changes}
    return SimpleNamespace(local_results_path=str(tmp_path), unique_token=TOKEN, **chosen)


def best_model(tmp_path):
    folder = tmp_path / "models" / TOKEN / "best"
    folder.mkdir(parents=True)
    (folder / "agent.th").write_bytes(b"weights")
    (folder / "best.json").write_text('{"step": 20, "test_return_mean": 8.0}')


def write_page(path):
    path.write_text("<p>figures</p>")
    return True


def test_the_best_model_replays_and_the_page(service, tmp_path):
    pytest.importorskip("imageio", reason="pip install -r requirements-browser.txt")
    best_model(tmp_path)
    write_replay(tmp_path, TOKEN, "30_0.jsonl")
    attach_results(args_for(tmp_path), service.logger, 30, write_page)
    service.logger.close_sinks(finished=True)
    (found,) = service.runs
    if isinstance(service, Mlflow):
        assert found.artifacts.pop("videos/30_0.gif")[:6] == b"GIF89a"
        assert found.artifacts.pop("models/best/best.json")
        assert found.artifacts == {"models/best/agent.th": b"weights", "pages/summary.html": b"<p>figures</p>"}
        assert found.status == "FINISHED"
    else:
        (model,) = found.artifacts
        assert (model.name, model.type, model.metadata) == ("run_1-best", "model", {"t_env": 20})
        assert model.files == ["agent.th", "best.json"]
        assert found.rows == [
            {"t_env": 30, "loss": 1.0},
            {"t_env": 30, "replay/30_0": ("video", "gif", b"GIF89a")},
            {"t_env": 30, "summary": ("page", False, "<p>figures</p>")},
        ]


def test_only_what_is_asked_for_and_there(service, tmp_path):
    attach_results(args_for(tmp_path), service.logger, 30, None)
    best_model(tmp_path)
    attach_results(args_for(tmp_path, track_model=False, track_media=False), service.logger, 30, write_page)
    service.logger.close_sinks(finished=True)
    assert not service.runs[0].artifacts


def test_a_service_that_fails_is_reported(service, tmp_path, caplog):
    best_model(tmp_path)
    service.logger.flush()
    service.broken = True
    service.logger.attach(Attachment("model", "best", tmp_path / "models" / TOKEN / "best", 20))
    assert "best was not delivered: no answer" in caplog.text and not service.runs[0].artifacts


def test_a_damaged_replay_is_reported_and_the_newest_are_taken(service, tmp_path, caplog, monkeypatch):
    pytest.importorskip("imageio", reason="pip install -r requirements-browser.txt")
    taken = []
    monkeypatch.setattr(attachments, "MOST_REPLAYS", 1)
    monkeypatch.setattr(service.logger, "attach", taken.append)
    write_replay(tmp_path, TOKEN, "10_0.jsonl")
    (tmp_path / "replays" / TOKEN / "20_0.jsonl").write_text("{")
    with caplog.at_level(logging.INFO):
        attach_results(args_for(tmp_path, track_model=False), service.logger, 30, None)
    assert taken == []
    assert "20_0.jsonl was not animated" in caplog.text and "The newest 1 of 2 replays" in caplog.text


def test_a_service_is_needed():
    for key in ("track_model", "track_media"):
        with pytest.raises(ConfigError, match=f"{key}=True keeps files in a tracking service: set use_wandb=True"):
            check_config({**default_config(), key: True})


@pytest.mark.slow
@pytest.mark.parametrize("tracked", [True, False])
def test_a_run_hands_over_its_model(tmp_path, monkeypatch, tracked):
    package = Wandb(tmp_path / "files")
    package.__spec__ = SimpleNamespace(origin="wandb/__init__.py")
    monkeypatch.setitem(sys.modules, "wandb", package)
    changes = {"t_max": 20, "test_interval": 10, "save_model": True}
    run(small_config(tmp_path, use_wandb=True, track_model=tracked, **changes))
    (found,) = package.runs
    assert [artifact.type for artifact in found.artifacts] == ["model"] * tracked and found.exit_code == 0
