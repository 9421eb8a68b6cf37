"""Keys that change by a file and by schedules, and the parts that take the changes."""

import logging

import pytest

from checks.options import declared
from experiment.live import LiveChanges, LiveConfig, start_schedules
from fakes import RecordingLogger
from helpers import make_args
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
