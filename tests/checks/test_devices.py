"""Devices that are not there."""

import pytest
import torch as th

from checks import check_config
from utils.config import default_config, recursive_dict_update
from utils.errors import ConfigError


@pytest.mark.parametrize("key", ["learner_device", "acting_device"])
def test_a_device_by_name_must_be_there(key, monkeypatch):
    monkeypatch.setattr(th.cuda, "is_available", lambda: False)
    assert check_config(recursive_dict_update(default_config(), {key: "cpu"}))[key] == "cpu"
    with pytest.raises(ConfigError, match=f"{key}=cuda: there is no CUDA device here"):
        check_config(recursive_dict_update(default_config(), {key: "cuda"}))
    with pytest.raises(ConfigError, match=f"{key}=cdua: no such choice. Did you mean 'cuda'"):
        check_config(recursive_dict_update(default_config(), {key: "cdua"}))


def test_overlap_needs_a_learner_that_replays():
    config = recursive_dict_update(
        default_config(),
        {"learner": "coma_learner", "agent_output_type": "pi_logits", "action_selector": "multinomial"},
    )
    check_config(config)
    with pytest.raises(ConfigError, match="overlap=True does not go with learner=coma_learner"):
        check_config({**config, "overlap": True})


def test_compiling_needs_a_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    for value in ("auto", "off", False):
        check_config(recursive_dict_update(default_config(), {"compile": value}))
    for value in ("on", True):
        with pytest.raises(ConfigError, match="compile=on needs a C"):
            check_config(recursive_dict_update(default_config(), {"compile": value}))
    (tmp_path / "clang++").touch(mode=0o755)
    assert check_config(recursive_dict_update(default_config(), {"compile": True}))["compile"] == "on"
