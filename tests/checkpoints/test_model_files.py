"""Finding saved models, and refusing incomplete ones."""

import pytest
import torch as th

from checkpoints.model_files import find_checkpoint, load_weights, model_to_play, save_checkpoint
from helpers import compressed
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
    for name in ("notes", "0900", "-5", "1e3", "²"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.th").write_bytes(b"")
    assert find_checkpoint(str(tmp_path), load_step) == (tmp_path / str(found), found)


def test_invalid_checkpoints(tmp_path):
    with pytest.raises(ConfigError, match=r"no such folder.*20000/ with agent\.th"):
        find_checkpoint(str(tmp_path / "x"), 0)
    with pytest.raises(ConfigError, match=r"holds no checkpoint.*20000/ with agent\.th"):
        find_checkpoint(str(tmp_path), 0)


def test_the_folder_of_one_step_is_not_the_folder_of_steps(tmp_path):
    _saved(tmp_path, 400)
    step = tmp_path / "400"
    with pytest.raises(ConfigError) as error:
        find_checkpoint(str(step), 0)
    assert f"give its parent, checkpoint_path={tmp_path} load_step=400" in str(error.value)
    assert find_checkpoint(str(tmp_path), 400)[0] == step


def test_a_model_that_comes_with_muster_goes_by_its_name(tmp_path, monkeypatch):
    """The best one, if it is known; a folder of the user's wins."""
    shipped = tmp_path / "docs" / "models"
    (shipped / "team").mkdir(parents=True)
    _saved(shipped / "team", 400)
    (shipped / "3m" / "best").mkdir(parents=True)
    (shipped / "3m" / "best" / "agent.th").write_bytes(b"")
    (shipped / "3m" / "best" / "best.json").write_text('{"step": 30}')
    monkeypatch.setattr("records.find_run.SHIPPED", shipped)
    monkeypatch.chdir(tmp_path)
    assert find_checkpoint("team", 0) == (shipped / "team" / "400", 400)
    assert find_checkpoint("3m", 0) == (shipped / "3m" / "best", 30) == model_to_play("3m", 0)[:2]
    with pytest.raises(ConfigError, match=r"opponent_models=teams: there is no such folder\. Did you mean 'team'\?"):
        find_checkpoint("teams", 0, key="opponent_models")
    (tmp_path / "team").mkdir()
    _saved(tmp_path / "team", 20)
    assert find_checkpoint("team", 0)[1] == 20


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "400").write_bytes(b"")
    with pytest.raises(ConfigError, match="no such folder"):
        find_checkpoint(str(tmp_path / "400"), 0)
    with pytest.raises(ConfigError, match="holds no checkpoint"):
        find_checkpoint(str(tmp_path), 0)


def test_weights(tmp_path):
    path = tmp_path / "net.th"
    net, other = th.nn.Linear(2, 3), th.nn.Linear(2, 3)
    th.save(net.state_dict(), path)
    load_weights(other, path)
    assert th.equal(other.weight, net.weight)
    assert th.equal(other.bias, net.bias)


def test_weights_that_do_not_fit(tmp_path):
    path = tmp_path / "net.th"
    for content in ({"weight": th.zeros(3, 2)}, {"weight": th.zeros(3, 2), "bias": th.zeros(4)}, [1, 2], th.zeros(3)):
        th.save(content, path)
        with pytest.raises(ConfigError, match=r"net\.th does not fit .*\(Linear\)"):
            load_weights(th.nn.Linear(2, 3), path)
    for content in (b"", b"no weights", path.read_bytes()[:50]):
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=r"net\.th cannot be read as weights"):
            load_weights(th.nn.Linear(2, 3), path)


@pytest.mark.slow
def test_another_optimisers_state(tmp_path):
    path = tmp_path / "opt.th"
    parameters = list(th.nn.Linear(2, 3).parameters())
    th.save(th.optim.Adam(parameters).state_dict(), path)
    load_weights(th.optim.Adam(parameters), path)
    with pytest.raises(ConfigError, match=r"opt\.th does not fit.*another optimiser"):
        load_weights(th.optim.RMSprop(parameters), path)
    for content in ({"param_groups": []}, {}, [], {"param_groups": [{}]}):
        th.save(content, path)
        with pytest.raises(ConfigError, match=r"opt\.th does not fit"):
            load_weights(th.optim.RMSprop(parameters), path)


class _Learner:
    def __init__(self, text, fails=False):
        self.text, self.fails = text, fails

    def save_models(self, path):
        with open(f"{path}/agent.th", "w") as file:
            file.write(self.text)
        if self.fails:
            raise OSError("disk full")


def test_a_failed_save_leaves_the_old_files(tmp_path):
    folder = tmp_path / "models" / "100"
    with pytest.raises(OSError, match="disk full"):
        save_checkpoint(_Learner("half", fails=True), folder)
    assert not folder.exists()
    with pytest.raises(ConfigError, match="holds no checkpoint"):
        find_checkpoint(str(folder.parent), 0)
    save_checkpoint(_Learner("whole"), folder)
    with pytest.raises(OSError, match="disk full"):
        save_checkpoint(_Learner("half", fails=True), folder)
    assert (folder / "agent.th").read_text() == "whole"
    save_checkpoint(_Learner("newer"), folder)
    assert (folder / "agent.th").read_text() == "newer"
    assert [p.name for p in folder.parent.iterdir()] == ["100"]


def test_weights_that_would_unpack_to_more_than_the_file_is_long(tmp_path):
    path = compressed(tmp_path / "agent.th", {"weight": th.zeros(10**6)})
    with pytest.raises(ConfigError, match=r"agent.th cannot be read as weights: .* would unpack to"):
        load_weights(th.nn.Linear(1, 10**6, bias=False), path)
