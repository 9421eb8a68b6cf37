"""Files that Linesight saves are read as numbers; code in them does not run."""

import pickle

import pytest
import torch as th

import linesight_network as theirs
from checkpoints.linesight_files import read_normalisation, read_optimiser, read_statistics, read_weights
from utils.errors import ConfigError


@pytest.mark.parametrize("prefix", ["", "_orig_mod."])
def test_what_it_saves_is_read(tmp_path, prefix):
    folder = theirs.saved(tmp_path, prefix)
    found = read_weights(folder)
    assert list(found) == list(theirs.weights())
    assert all((found[name] == value).all() for name, value in theirs.weights().items())
    assert len(read_optimiser(folder)) == len(found)
    statistics = read_statistics(folder)
    assert statistics["cumul_number_frames_played"] == 4321
    assert statistics["rolling_mean_ms"] == {"hock": 55000.5}
    mean, deviation = read_normalisation(tmp_path / "config_files" / "state_normalization.py")
    assert [mean.tolist(), deviation.tolist()] == [one.tolist() for one in theirs.normalisation()]


def test_only_the_weights_must_be_there(tmp_path):
    assert read_optimiser(tmp_path) is None and read_statistics(tmp_path) == {}
    with pytest.raises(ConfigError, match=r"There is no weights1.torch; name a folder that Linesight saved"):
        read_weights(tmp_path)


class Harm:
    def __reduce__(self):
        return open, ("harmed", "w")


def test_code_in_them_does_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = theirs.saved(tmp_path / "run")
    (folder / "accumulated_stats.joblib").write_bytes(pickle.dumps({"a": Harm()}))
    th.save({"a": Harm()}, folder / "weights1.torch")
    th.save({"state": Harm()}, folder / "optimizer1.torch")
    (tmp_path / "n.py").write_text("float_inputs_mean = open('harmed', 'w')\nfloat_inputs_std = [1]\n")
    for read, where in ((read_weights, folder), (read_optimiser, folder), (read_statistics, folder)):
        with pytest.raises(ConfigError, match="never run"):
            read(where)
    with pytest.raises(ConfigError, match="float_inputs_mean must be a list of numbers"):
        read_normalisation(tmp_path / "n.py")
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "float_inputs_mean must be"),
        ("float_inputs_mean = [1, 2]\nfloat_inputs_std = [1, 0]", "2 numbers above 0"),
        ("float_inputs_mean = [1, 2]\nfloat_inputs_std = [1]", "2 numbers above 0"),
        ("float_inputs_mean = [[1, 2]]\nfloat_inputs_std = [1]", "float_inputs_mean must be"),
        ("def", "is no Python"),
    ],
)
def test_other_scales_are_refused(tmp_path, text, message):
    (tmp_path / "n.py").write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_normalisation(tmp_path / "n.py")


@pytest.mark.parametrize("content", [b"", b"abc", pickle.dumps([1])])
def test_damaged_statistics_are_refused(tmp_path, content):
    (tmp_path / "accumulated_stats.joblib").write_bytes(content)
    with pytest.raises(ConfigError, match=r"accumulated_stats.joblib (is damaged|holds no counts)"):
        read_statistics(tmp_path)


def test_weights_that_are_not_finite_are_refused(tmp_path):
    state = theirs.weights()
    state["A_head.0.bias"][1] = float("nan")
    th.save(state, tmp_path / "weights1.torch")
    with pytest.raises(ConfigError, match=r"A_head.0.bias: 1 of 5"):
        read_weights(tmp_path)
    th.save([1], tmp_path / "weights1.torch")
    with pytest.raises(ConfigError, match="no weights by names"):
        read_weights(tmp_path)
