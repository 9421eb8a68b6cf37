"""The weights of a `BasicMAC` in files and in another controller."""

import pickle

import pytest
import torch as th
from small_macs import make_mac

from controllers.basic_controller import BasicMAC
from helpers import make_args
from utils.errors import ConfigError


def test_weights_travel(tmp_path):
    mac, batch = make_mac()
    mac.save_models(str(tmp_path))
    assert [p.name for p in tmp_path.iterdir()] == ["agent.th"]
    other = BasicMAC(batch.scheme, batch.groups, mac.args)
    other.load_models(str(tmp_path))
    th.testing.assert_close(other.unroll(batch)[0], mac.unroll(batch)[0])
    third = BasicMAC(batch.scheme, batch.groups, mac.args)
    third.load_state(mac)
    th.testing.assert_close(third.unroll(batch)[0], mac.unroll(batch)[0])


def test_weights_of_another_size_are_refused(tmp_path):
    mac, batch = make_mac()
    mac.save_models(str(tmp_path))
    wider = BasicMAC(batch.scheme, batch.groups, make_args(rnn_hidden_dim=16))
    with pytest.raises(ConfigError, match=r"agent\.th does not fit.*fc1") as error:
        wider.load_models(str(tmp_path))
    assert "size mismatch" in str(error.value)
    with pytest.raises(ConfigError, match="no file"):
        wider.load_models(str(tmp_path / "elsewhere"))


class _Bomb:
    def __reduce__(self):
        return print, ("this must not run",)


def test_code_in_a_checkpoint_does_not_run(tmp_path, capsys):
    mac, _ = make_mac()
    th.save({"fc1.weight": _Bomb()}, tmp_path / "agent.th")
    with pytest.raises(ConfigError, match=r"agent\.th cannot be read as weights"):
        mac.load_models(str(tmp_path))
    (tmp_path / "agent.th").write_bytes(pickle.dumps(_Bomb(), protocol=2))
    with pytest.raises(ConfigError, match=r"agent\.th cannot be read as weights"):
        mac.load_models(str(tmp_path))
    assert "must not run" not in capsys.readouterr().out
