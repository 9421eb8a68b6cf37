"""Which model is the best, and where it is."""

import json

import pytest

from checkpoints.model_files import find_checkpoint, save_checkpoint
from records.best_model import RankedModel, best_of
from records.layout import BEST
from utils.errors import ConfigError


def _model(step, returns=None, won=None):
    figures = {"test_return_mean": returns, "test_battle_won_mean": won}
    return RankedModel(step, {key: value for key, value in figures.items() if value is not None})


def test_battles_won_count_first_then_returns_then_the_newer():
    models = [
        _model(1, 9.0, 0.5),
        _model(2, 1.0, 0.75),
        _model(3, 2.0, 0.75),
        _model(4, 2.0, 0.75),
        _model(5, 3.0, 0.0),
    ]
    assert max(models, key=lambda model: model.rank).step == 4
    assert max([_model(1, 3.0), _model(2, -1.0), _model(3, float("nan")), _model(4)], key=lambda m: m.rank).step == 1
    # the same rewards, added up in other orders
    assert max([_model(1, 15.000000000000007), _model(2, 15.0)], key=lambda model: model.rank).step == 2
    assert max([_model(1, 15.0001), _model(2, 15.0)], key=lambda model: model.rank).step == 1
    # where all battles are won, more return is for what enemies regenerated
    assert max([_model(1, 20.2, 1.0), _model(2, 20.0, 1.0)], key=lambda model: model.rank).step == 2
    assert max([_model(1, 20.2, 0.5), _model(2, 20.0, 0.5)], key=lambda model: model.rank).step == 1
    assert [model.tested for model in (_model(1), _model(1, float("nan")), _model(1, 0.0))] == [False, False, True]


def _best(folder, content):
    folder.mkdir(parents=True)
    (folder / "agent.th").write_bytes(b"")
    (folder / "best.json").write_text(content)


def test_a_checkpoint_path_may_be_the_best_model(tmp_path):
    _best(tmp_path / BEST, json.dumps({"step": 300, "test_return_mean": 2.5}))
    assert find_checkpoint(str(tmp_path / BEST), 0) == (tmp_path / BEST, 300)
    assert best_of(tmp_path) == _model(300, 2.5)
    assert find_checkpoint(str(tmp_path / BEST), 300) == (tmp_path / BEST, 300)
    with pytest.raises(ConfigError, match=r"load_step=4: .* holds the model of step 300 only"):
        find_checkpoint(str(tmp_path / BEST), 4)
    (tmp_path / BEST / "agent.th").unlink()
    with pytest.raises(ConfigError, match="holds no checkpoint"):
        find_checkpoint(str(tmp_path / BEST), 0)


def test_half_replaced_it_is_still_there(tmp_path):
    _best(tmp_path / ".best.replaced", '{"step": 300}')
    assert find_checkpoint(str(tmp_path / BEST), 0) == (tmp_path / ".best.replaced", 300)


@pytest.mark.parametrize("content", ["", "[]", '{"step": -1}', '{"step": "../x"}', '{"step": true}', "{}"])
def test_without_its_step_it_is_a_folder_like_any_other(tmp_path, content):
    _best(tmp_path / BEST, content)
    assert best_of(tmp_path) is None
    with pytest.raises(ConfigError, match="holds no checkpoint"):
        find_checkpoint(str(tmp_path / BEST), 0)


class _Learner:
    def __init__(self, fails=False):
        self.fails = fails

    def save_models(self, path):
        with open(f"{path}/agent.th", "w"):
            if self.fails:
                raise OSError("full")


def test_a_failed_write_leaves_the_old_one(tmp_path):
    save_checkpoint(_Learner(), tmp_path / BEST, {"best.json": '{"step": 1}'})
    with pytest.raises(OSError, match="full"):
        save_checkpoint(_Learner(fails=True), tmp_path / BEST, {"best.json": '{"step": 2}'})
    assert best_of(tmp_path).step == 1
    save_checkpoint(_Learner(), tmp_path / BEST, {"best.json": '{"step": 3}'})
    assert best_of(tmp_path).step == 3
    assert [path.name for path in tmp_path.iterdir()] == [BEST]
