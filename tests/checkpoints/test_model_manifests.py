"""Saved models whose files are as they were written, and others."""

import json
import os

import pytest
import torch as th

from checkpoints.errors import CheckpointError
from checkpoints.model_files import find_checkpoint, load_weights, model_to_play, save_checkpoint
from checkpoints.model_manifests import note_of
from checkpoints.parts import load_state, state_of
from checkpoints.plain_files import load_plain
from learners.non_finite import require_finite
from utils.errors import ConfigError


class Learner:
    """A user's own, which writes its files itself, one of them into a folder."""

    def save_models(self, path):
        th.save({"weight": th.ones(2)}, f"{path}/agent.th")
        os.mkdir(f"{path}/more")
        with open(f"{path}/more/notes.txt", "w") as file:
            file.write("any")


@pytest.fixture
def models(tmp_path):
    folder = tmp_path / "results" / "models" / "first"
    for step in (10, 20, 30):
        save_checkpoint(Learner(), folder / str(step))
    save_checkpoint(Learner(), folder / "best", {"best.json": '{"step": 20, "test_return_mean": 1.0}'})
    return folder


def flip(path, bit=4):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= bit
    path.write_bytes(data)


def test_the_manifest_names_every_file(models):
    manifest = json.loads((models / "best" / "manifest.json").read_text())
    assert set(manifest["files"]) == {"agent.th", "more/notes.txt", "best.json"}
    assert find_checkpoint(str(models), 0) == (models / "30", 30)
    assert note_of(models / "30") == ""


@pytest.mark.parametrize("name", ["agent.th", "more/notes.txt", "manifest.json"])
def test_a_flipped_bit_is_refused_with_what_else_can_be_loaded(models, name):
    path = models / "30" / name
    flip(path)
    with pytest.raises(CheckpointError) as error:
        find_checkpoint(str(models), 0)
    told = str(error.value)
    assert told.startswith(str(path)) and ("has changed since it was written" in told or "manifest" in name)
    assert f"Intact: {models / 'best'}, {models / '20'}, {models / '10'}." in told
    assert f"remove {models / '30' / 'manifest.json'} to load it unchecked" in told
    # each model for itself
    assert find_checkpoint(str(models), 20) == (models / "20", 20)
    assert model_to_play(str(models), 0)[0] == models / "best"
    flip(models / "best" / "agent.th")
    with pytest.raises(CheckpointError, match=rf"best/agent.th has changed .* Intact: {models}/20, {models}/10\."):
        model_to_play(str(models), 0)


def test_a_truncated_file_and_no_other_model(models):
    for step in ("10", "20", "best"):
        flip(models / step / "agent.th")
    path = models / "30" / "agent.th"
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(CheckpointError, match=r"agent.th has .* bytes instead of .* No other model beside it"):
        find_checkpoint(str(models), 0)
    (models / "30" / "manifest.json").unlink()
    assert find_checkpoint(str(models), 0) == (models / "30", 30)
    assert note_of(models / "30") == " (it has no manifest.json of today's form, so its files were not checked)"


def test_what_is_missing_is_left_to_those_who_read_it(models):
    (models / "30" / "more" / "notes.txt").unlink()
    assert find_checkpoint(str(models), 0) == (models / "30", 30)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(tmp_path, value):
    net = th.nn.Linear(2, 3)
    good = {key: weight.clone() for key, weight in net.state_dict().items()}
    spoilt = {**good, "bias": th.tensor([1.0, value, value])}
    th.save(spoilt, tmp_path / "net.th")
    with pytest.raises(ConfigError, match=r"net.th has weights that cannot be used, in bias: 2 of 3 numbers"):
        load_weights(net, tmp_path / "net.th")
    with pytest.raises(CheckpointError, match=r"The checkpoint's state of the net .* in bias: 2 of 3"):
        load_state(net, spoilt, "the net")
    assert all(th.equal(net.state_dict()[key], weight) for key, weight in good.items())
    # whoever has read them
    net.bias.data.fill_(value)
    with pytest.raises(ConfigError, match="30: the weights of the agents have numbers that are NaN or infinite"):
        require_finite(net, "30")


def test_an_optimiser_that_is_not_finite_is_refused(tmp_path):
    weight = th.nn.Parameter(th.ones(3))
    optimiser = th.optim.Adam([weight])
    weight.grad = th.full((3,), th.inf)
    optimiser.step()
    th.save(optimiser.state_dict(), tmp_path / "opt.th")
    with pytest.raises(ConfigError, match=r"opt.th has weights that cannot be used, in state\.0\.exp_avg: 3 of 3"):
        load_weights(optimiser, tmp_path / "opt.th")


def test_figures_of_a_part_may_be_infinite():
    """Such as the least value so far; they are no weights."""

    class Part:
        def __init__(self):
            self.least = float("inf")

    load_state(Part(), state_of(Part()))


class Code:
    def __reduce__(self):
        return os.mkdir, ("made",)


def test_torch_s_own_words_are_not_repeated(tmp_path):
    """They advise to run the code in a file, or name the system's error for a seek."""
    path = tmp_path / "agent.th"
    th.save({"weight": th.zeros(30, 30)}, path)
    whole = path.read_bytes()
    for size in (1, 4, 50, len(whole) // 2, len(whole) - 100, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"^it is (truncated or )?damaged(, or holds more than .*)?$"):
            load_plain(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="it is empty"):
        load_plain(path)
    for content in ({"a": Code()}, th.nn.Linear(1, 1)):
        th.save(content, path)
        with pytest.raises(ConfigError, match=r"^\S+ cannot be read as weights: it is damaged, or holds more") as error:
            load_weights(th.nn.Linear(1, 1), path)
        assert "weights_only" not in str(error.value) and "PyTorch" not in str(error.value)
