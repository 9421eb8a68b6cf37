"""The files for TensorBoard, read back by TensorBoard."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from records.events import EventWriter

SRC = Path(__file__).resolve().parents[2] / "src"


def _read(folder):
    events = EventAccumulator(str(folder))
    events.Reload()
    return {tag: [(s.step, s.value) for s in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_tensorboard_reads_the_written_values(tmp_path):
    writer = EventWriter(str(tmp_path))
    values = [0.5, -3.0, float("inf"), float("nan"), 1e-30]
    for i, value in enumerate(values):
        writer.log_value("test_return_mean", value, i * 10**9)
        writer.log_value("loss", 2.0, i)
    read = _read(tmp_path)
    assert set(read) == {"test_return_mean", "loss"}
    steps, scalars = zip(*read["test_return_mean"], strict=True)
    assert steps == (0, 10**9, 2 * 10**9, 3 * 10**9, 4 * 10**9)
    np.testing.assert_array_equal(scalars, np.float32(values))
    assert read["loss"] == [(i, 2.0) for i in range(5)]


def _python(code, *arguments):
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
    done = subprocess.run(command, cwd=SRC, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


OURS = "from records.events import EventWriter; EventWriter(sys.argv[%d]).log_value('x', 1, 2);"
# tensorboard-logger, which users' files import
WRITE = (
    "from utils.old_tensorboard_logger import let_tensorboard_logger_be_imported as let; let();"
    "from tensorboard_logger import Logger; Logger(sys.argv[%d]).log_value('x', 1, 2);"
)


@pytest.mark.parametrize("write", [OURS, WRITE])
def test_nothing_false_is_left_among_the_modules(tmp_path, write):
    code = (
        f"import sys; {write % 1} {write % 2}"
        "print(*[n for n in sys.modules if n.split('.')[0] in ('scipy', 'tensorflow')])"
    )
    assert _python(code, tmp_path / "a", tmp_path / "b") == []
    assert _read(tmp_path / "a") == {"x": [(2, 1.0)]}


def test_modules_that_were_there_are_there_again(tmp_path):
    code = (
        "import sys; from types import ModuleType;"
        "own = {n: ModuleType(n) for n in ('scipy', 'scipy.misc', 'tensorflow')}; sys.modules.update(own);"
        f"{WRITE % 1} print(all(sys.modules[n] is own[n] for n in own))"
    )
    assert _python(code, tmp_path) == ["True"]


def test_installed_modules_can_be_imported_afterwards(tmp_path):
    for name in ("scipy", "tensorflow"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("installed = True")
    code = (
        f"import sys; sys.path.insert(0, sys.argv[2]); {WRITE % 1}"
        "import scipy, tensorflow; print(scipy.installed, tensorflow.installed)"
    )
    assert _python(code, tmp_path / "events", tmp_path) == ["True", "True"]


def test_it_is_imported_only_by_those_who_want_it():
    assert _python("import sys; import records.logger; print('tensorboard' in sys.modules)") == ["False"]


def test_tags_are_those_of_tensorboard_logger(tmp_path):
    """Also of names that become the same, which are numbered."""
    from utils.old_tensorboard_logger import let_tensorboard_logger_be_imported

    let_tensorboard_logger_be_imported()
    from tensorboard_logger import Logger as Theirs

    ours, theirs = EventWriter(str(tmp_path / "ours")), Theirs(str(tmp_path / "theirs"))
    for step, key in enumerate(["a b", "a_b", "a  b", "_x", "-", "é/1", "a b", "q/1", ".x"]):
        for writer in (ours, theirs):
            writer.log_value(key, 0.1 * step, step)
    assert _read(tmp_path / "ours") == _read(tmp_path / "theirs")
    assert {"a_b", "a_b/1", "a_b/2"} < set(_read(tmp_path / "ours"))


def test_a_users_file_imports_tensorboard_logger_itself(tmp_path):
    """PyMARL's users log by its functions; with the packages of today, importing it failed."""
    (tmp_path / "mine.py").write_text(
        "from tensorboard_logger import Logger, configure, log_histogram, log_value\n"
        f"configure({str(tmp_path / 'a')!r}, flush_secs=1)\n"
        "log_value('mine', 0.5, 3)\n"
        f"Logger({str(tmp_path / 'b')!r}).log_value('other', 2.0, 4)\n"
        "log_histogram('weights', [1.0, 2.0], 5)\n"
    )
    code = f"import sys; from utils.config.user_modules import imported; imported('plugins', sys.argv[1]); {OURS % 2}"
    _python(code, tmp_path / "mine.py", tmp_path / "c")
    assert _read(tmp_path / "a") == {"mine": [(3, 0.5)]}
    assert _read(tmp_path / "b") == {"other": [(4, 2.0)]}
    assert _read(tmp_path / "c") == {"x": [(2, 1.0)]}, "ours writes beside it"
