"""`profile: trace`: which rounds are recorded, into which files."""

import gzip
import json
from types import SimpleNamespace

import pytest

from checks.tracing import check_traces
from experiment.tracing import Tracing
from muster.testing import RecordingLogger
from records.run_folder import RunFolder
from run import run
from small_training import small_config
from utils.errors import ConfigError
from utils.timing import timed

CONSOLE = RecordingLogger().console_logger


def tracing(folder, at, rounds=1):
    args = SimpleNamespace(profile="trace", trace_at=at, trace_rounds=rounds, device="cpu", acting_device="cpu")
    return Tracing(args, lambda: folder, CONSOLE)


def opened(tmp_path):
    folder = RunFolder(tmp_path, "run")
    folder.create()
    return folder


def spans(path):
    """The names of the spans of a trace."""
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    return {event["name"] for event in events if event.get("cat") == "user_annotation"}


def play(tracer, begins):
    """Rounds that begin at these steps, with a span of each step's name."""
    for t_env in begins:
        with tracer.round(t_env), timed(f"round {t_env}"):
            pass


def test_rounds_from_each_chosen_step_on(tmp_path):
    tracer = tracing(opened(tmp_path), [15, 0, 70], rounds=2)
    play(tracer, (0, 10, 20, 30, 40))
    tracer.close()
    found = {path.name: spans(path) for path in (tmp_path / "runs" / "run" / "traces").iterdir()}
    assert found == {
        "step-0.pt.trace.json.gz": {"round 0", "round 10"},
        "step-15.pt.trace.json.gz": {"round 20", "round 30"},
    }


def test_a_run_that_ends_early_writes_what_there_is_and_a_resumed_one_the_rest(tmp_path):
    folder = opened(tmp_path)
    path = folder.path / "traces"
    tracer = tracing(folder, [0, 20], rounds=3)
    play(tracer, (0, 10))
    tracer.close()
    written = (path / "step-0.pt.trace.json.gz").read_bytes()
    play(tracing(folder, [0, 20], rounds=1), (10, 20, 30))
    assert (path / "step-0.pt.trace.json.gz").read_bytes() == written
    assert spans(path / "step-20.pt.trace.json.gz") == {"round 20"}


def test_a_file_that_cannot_be_written_ends_nothing(tmp_path, caplog):
    folder = opened(tmp_path)
    (folder.path / "traces").write_text("in the way")
    play(tracing(folder, [0]), (0, 1))
    assert "could not be written" in caplog.text


@pytest.mark.parametrize(
    ("given", "said"),
    [([], "0 entries"), ([-1], "found -1"), ([True], "found True"), (["x"], "found x"), ([1.5], "found 1.5")],
)
def test_steps_that_are_none_are_refused(given, said):
    with pytest.raises(ConfigError, match=said):
        check_traces({"trace_at": given})


def test_a_traced_run_has_the_figures_of_another(tmp_path):
    changes = {"t_max": 30, "test_interval": 10}
    plain = run(small_config(tmp_path / "a", **changes))
    traced = run(
        small_config(
            tmp_path / "b", profile="trace", trace_at=[0, 20], checkpoint_interval=10, last_checkpoint=True, **changes
        )
    )
    assert traced == plain
    (made,) = tmp_path.glob("b/runs/*/traces/*")
    assert made.name == "step-20.pt.trace.json.gz" and {"play", "update", "optimiser"} <= spans(made)
