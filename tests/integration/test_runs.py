"""What a run is: its name and message, its limits and the mark at its end, and runs that leave nothing."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from experiment.summaries import Summaries
from main import main
from records.run_folder import RunFolder
from refusals import refused
from run import run
from utils.errors import ConfigError
from watch import main as watch

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SMALL = {
    "env": "two_step",
    "t_max": 40,
    "batch_size": 4,
    "buffer_size": 8,
    "test_nepisode": 1,
    "test_interval": 20,
    "log_interval": 10,
    "seed": 1,
    "use_cuda": False,
}
WORDS = ["--config=vdn", "--env-config=two_step", "with", *(f"{key}={value}" for key, value in SMALL.items())]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def done_mark(here, name="first"):
    return json.loads((here / "results" / "runs" / name / "done.json").read_text())


def record(here, number=1):
    return {
        name: json.loads((here / "results" / "sacred" / str(number) / f"{name}.json").read_text())
        for name in ("config", "info", "run")
    }


def test_a_run_has_its_name_and_message(here, capsys):
    words = [*WORDS, "run_name=first", "message=is VDN enough?", "checkpoint_interval=10", "save_model=True"]
    assert main(words) == 0
    assert "Message: is VDN enough?" in capsys.readouterr().out
    assert [path.name for path in (here / "results" / "runs").iterdir()] == ["first"]
    assert [path.name for path in (here / "results" / "models").iterdir()] == ["first"]
    found = record(here)
    assert (found["config"]["message"], found["info"]["unique_token"]) == ("is VDN enough?", "first")
    assert done_mark(here) == {"limit": "t_max", "t_env": 42, "updates": 18}
    assert "results/runs/first exists already" in refused(words, capsys, here)
    with pytest.raises(ConfigError, match="first exists already"):
        run({**SMALL, "run_name": "first"})
    # what plays it has a name of its own
    assert main(["--evaluate=first", "with", "test_nepisode=2"]) == 0
    assert main(["--resume=first", "with", "t_max=60"]) == 0
    assert done_mark(here)["t_env"] == 62


@pytest.mark.parametrize("name", ["../x", "latest", "7", "a b", ".x", "x" * 101])
def test_names_that_lead_elsewhere_are_refused(name):
    with pytest.raises(ConfigError, match="run_name="):
        run({**SMALL, "run_name": name})


def test_max_updates_ends_a_run_and_a_larger_one_trains_on(here, capsys):
    assert main([*WORDS, "run_name=first", "max_updates=5", "checkpoint_interval=10"]) == 0
    mark = done_mark(here)
    assert (mark["limit"], mark["updates"]) == ("max_updates", 5)
    assert mark["t_env"] < 40
    assert record(here)["info"]["test_return_mean_T"][-1] == mark["t_env"]
    capsys.readouterr()
    assert main(["--resume=first"]) == 0
    assert "max_updates is reached; a larger max_updates continues the training" in capsys.readouterr().out
    assert main(["--resume=first", "with", "max_updates=9"]) == 0
    assert done_mark(here)["updates"] == 9


@pytest.mark.parametrize(
    "words", [["runner=collectors", "collectors.processes=1"], ["overlap=True"], ["buffer_size=1e1"]]
)
def test_a_resumed_run_is_recorded_in_the_same_words(here, words):
    """Names that stand for others were spelled out in the second record only, so groups told the two apart."""
    assert main([*WORDS, *words]) == 0
    assert main(["--resume=1", "with", "t_max=60"]) == 0
    first, resumed = (record(here, number)["config"] for number in (1, 2))
    assert (first.pop("t_max"), resumed.pop("t_max")) == (40, 60)
    assert resumed == first


def test_max_hours_counts_the_sessions_before(here, monkeypatch):
    from records.logger import Logger

    seconds = iter(range(0, 10**6, 300))  # five minutes for every look at the clock
    monkeypatch.setattr(Logger, "seconds", lambda self: float(next(seconds)))
    assert main([*WORDS, "run_name=first", "max_hours=3"]) == 0
    assert done_mark(here)["limit"] == "max_hours" and done_mark(here)["t_env"] < 40


def test_the_mark_is_away_while_a_run_trains_on(here):
    folder = RunFolder(here / "results", "first")
    folder.mark_done({})
    assert not folder.path.exists()  # a run without a folder leaves none
    folder.create()
    folder.mark_done({"limit": "t_max"})
    assert done_mark(here) == {"limit": "t_max"}
    folder.unmark()
    assert not (folder.path / "done.json").exists()
    folder.close()


def test_what_the_page_needs_is_named_before_the_page(here, capsys, monkeypatch):
    monkeypatch.setattr("run.missing", lambda *modules: ["dash"])
    monkeypatch.setenv("MUSTER_COMMAND", "./muster")
    assert main([*WORDS, "run_name=first"]) == 0
    lines = [line.split("  ")[1:] for line in capsys.readouterr().out.partition("Next:\n")[2].splitlines()[:3]]
    assert [(words[0], words[-1].strip()) for words in lines] == [
        ("./muster watch latest", "plays its best model"),
        ("./muster pip install -r requirements-browser.txt", "installs the page, once"),
        ("./muster browse", "then shows its curves"),
    ]


def test_a_finished_run_keeps_its_last_checkpoint_and_its_last_and_best_models(here, capsys):
    """By default; `test_a_finished_run_can_be_made_longer` shows that a longer run is then exact."""
    assert main([*WORDS, "run_name=first"]) == 0
    commands = "\n  python src/watch.py latest  plays its best model\n  make browse                 shows its curves\n"
    assert f"Next:{commands}" in capsys.readouterr().out
    assert [path.name for path in (here / "results" / "runs" / "first" / "checkpoints").iterdir()] == ["42"]
    assert sorted(path.name for path in (here / "results" / "models" / "first").iterdir()) == ["42", "best"]
    assert main(["--evaluate=latest", "with", "test_nepisode=2"]) == 0
    assert watch(["latest", "--no-page"]) == 0
    capsys.readouterr()
    assert main(["--resume=1", "with", "t_max=60"]) == 0
    assert "Resuming from results/runs/first/checkpoints/42" in capsys.readouterr().out
    assert done_mark(here)["t_env"] == 62


def test_keys_turn_the_last_checkpoint_and_the_models_off(here):
    assert main([*WORDS, "run_name=first", "save_model=False", "last_checkpoint=False"]) == 0
    assert sorted(path.name for path in (here / "results").iterdir()) == ["runs", "sacred"]
    assert not (here / "results" / "runs" / "first" / "checkpoints").exists()


def test_an_unobserved_run_leaves_nothing_unasked(here, capsys):
    assert main(["-u", "-l", "WARNING", *WORDS]) == 0
    assert "Beginning training" not in capsys.readouterr().out
    run(SMALL)
    assert list(here.iterdir()) == []


def test_a_last_checkpoint_that_cannot_be_written_is_a_warning(here, monkeypatch, capsys):
    monkeypatch.setattr("experiment.saving.RETRY_AT_THE_END", ())
    monkeypatch.setattr("checkpoints.writer.CheckpointWriter.begin", lambda *_: os.stat("gone"))
    assert main([*WORDS, "run_name=first"]) == 0
    assert (
        "The last checkpoint could not be written, so no longer run can resume: No checkpoint"
        in capsys.readouterr().out
    )
    assert record(here)["info"]["test_return_mean_T"][-1] == 42
    assert (here / "results" / "models" / "first" / "42" / "agent.th").exists()


def test_a_dry_run_leaves_nothing(here, capsys):
    words = ["--dry-run", *WORDS, "save_model=True", "use_tensorboard=True", "checkpoint_interval=10"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "Dry run: nothing is kept" in shown and "Finished Training" in shown
    assert "Dry run: these results are removed." in shown
    assert list(here.iterdir()) == []
    temporary = next(line for line in shown.splitlines() if "/runs/" in line).split()[-1]
    assert not os.path.exists(temporary)


def test_a_dry_run_that_is_interrupted_promises_nothing(here, capsys, monkeypatch):
    monkeypatch.setattr(Summaries, "log", lambda *_: os.kill(os.getpid(), signal.SIGINT))
    assert main(["--dry-run", *WORDS]) == 128 + signal.SIGINT
    shown = capsys.readouterr().err
    assert "Interrupted by SIGINT. With --dry-run, nothing is kept." in shown and "Resume" not in shown
    assert list(here.iterdir()) == []


FUNCTIONS = """
import torch as th


def measure(run):
    lengths = [int(batch["filled"].sum()) - batch.batch_size for batch in run.play()]
    run.logger.log_stat("measured", sum(lengths), run.step)
    return {"episodes": len(lengths), "steps": sum(lengths), "weights": sum(w.numel() for w in run.mac.parameters())}


def of_two(run, other):
    return 1


def broken(run):
    raise ValueError("no such thing")
"""


@pytest.fixture
def trained(here):
    assert main([*WORDS, "run_name=first", "save_model=True", "save_model_interval=20"]) == 0
    (here / "functions.py").write_text(FUNCTIONS)
    return here


def test_a_function_is_called_on_a_loaded_run(trained, capsys):
    assert main(["--evaluate=first", "--custom=functions.py:measure", "with", "test_nepisode=3"]) == 0
    assert "measure returned {'episodes': 3, 'steps': 6" in capsys.readouterr().out
    info = record(trained, 2)["info"]
    assert (info["custom_result"]["steps"], info["measured"]) == (6, [6.0])
    assert not list((trained / "results" / "runs").glob("*/episodes.csv"))
    for name, said in (
        ("functions.py:mesure", "Did you mean 'measure'?"),
        ("none.py:measure", "there is no file"),
        ("no.module:f", "No module named"),
        ("functions.py", "expected module:function"),
        ("functions.py:of_two", "is called with one argument: missing a required argument: 'other'"),
    ):
        assert said in refused(["--evaluate=first", f"--custom={name}"], capsys, trained)
    with pytest.raises(ValueError, match="no such thing"):
        main(["--evaluate=first", "--custom=functions.py:broken", "-d"])


def test_the_newest_model_is_played_where_it_is_asked_for(trained, capsys):
    steps = sorted(
        int(path.name) for path in (trained / "results" / "models" / "first").iterdir() if path.name.isdigit()
    )
    best = steps[0]
    record_of_best = trained / "results" / "models" / "first" / "best" / "best.json"
    record_of_best.write_text(json.dumps({"step": best, "test_return_mean": 99.0}))
    (record_of_best.parent / "manifest.json").unlink()
    assert main(["--evaluate=first", "--model=newest"]) == 0
    assert record(trained, 2)["config"]["load_step"] == steps[-1]
    assert main(["--evaluate=first", "--model=best"]) == 0
    assert record(trained, 3)["config"]["load_step"] == best
    words = ["--evaluate=first", "--model=best", "with", "load_step=2"]
    capsys.readouterr()
    assert "--model and load_step both pick a model" in refused(words, capsys, trained)


def test_plugins_are_kept_with_the_code_that_ran(here):
    (here / "own.py").write_text("from envs import REGISTRY\nfrom envs.small.two_step import TwoStepGame\n")
    assert main([*WORDS, "plugins=['own.py']"]) == 0
    ((path, stored),) = record(here)["run"]["resources"]
    assert path == str(here / "own.py")
    assert (here / stored).read_text() == (here / "own.py").read_text()


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="the system has no such signal")
@pytest.mark.parametrize(("choice", "code"), [("stop", 128 + 10), ("save", 0)])
def test_sigusr1_stops_where_it_is_asked_to(here, choice, code):
    def send(log=here / "results" / "runs" / "first" / "metrics.csv"):
        while not log.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGUSR1)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    words = [word for word in WORDS if not word.startswith("t_max")]
    assert main([*words, "t_max=300", "run_name=first", f"sigusr1={choice}"]) == code
    sender.join()
    assert (here / "results" / "runs" / "first" / "checkpoints").is_dir()
    assert (here / "results" / "runs" / "first" / "done.json").exists() == (choice == "save")
