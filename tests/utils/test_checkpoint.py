"""Which saved model is meant, and that half a model is none."""

import pytest

from utils.checkpoint import find_checkpoint, save_checkpoint
from utils.errors import ConfigError


def _saved(root, *steps):
    for step in steps:
        (root / str(step)).mkdir()
        (root / str(step) / "agent.th").write_bytes(b"")


@pytest.mark.parametrize(
    ("load_step", "found"), [(0, 1000), (1, 20), (500, 400), (10**9, 1000), (400, 400), (210, 400)]
)
def test_the_newest_or_the_nearest(tmp_path, load_step, found):
    _saved(tmp_path, 20, 400, 1000)
    (tmp_path / "2000").mkdir()  # empty
    (tmp_path / "3000.tmp").mkdir()
    (tmp_path / "notes").mkdir()
    assert find_checkpoint(str(tmp_path), load_step) == (tmp_path / str(found), found)


def test_what_is_no_checkpoint(tmp_path):
    with pytest.raises(ConfigError, match=r"no such folder.*20000/ with agent\.th"):
        find_checkpoint(str(tmp_path / "x"), 0)
    with pytest.raises(ConfigError, match=r"holds no checkpoint.*20000/ with agent\.th"):
        find_checkpoint(str(tmp_path), 0)


class _Learner:
    def __init__(self, text, fails=False):
        self.text, self.fails = text, fails

    def save_models(self, path):
        with open(f"{path}/agent.th", "w") as file:
            file.write(self.text)
        if self.fails:
            raise OSError("disk full")


def test_a_save_that_fails_leaves_what_was_there(tmp_path):
    folder = tmp_path / "models" / "100"
    with pytest.raises(OSError, match="disk full"):
        save_checkpoint(_Learner("half", fails=True), folder)
    assert not folder.exists()
    save_checkpoint(_Learner("whole"), folder)
    with pytest.raises(OSError, match="disk full"):
        save_checkpoint(_Learner("half", fails=True), folder)
    assert (folder / "agent.th").read_text() == "whole"
    save_checkpoint(_Learner("newer"), folder)
    assert (folder / "agent.th").read_text() == "newer"
    assert [p.name for p in folder.parent.iterdir()] == ["100"]
