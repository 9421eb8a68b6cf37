"""Devices that are not there."""

import pytest
import torch as th

from checks import check_config, machine
from utils.config.merging import default_config, recursive_dict_update
from utils.errors import ConfigError


@pytest.mark.parametrize("key", ["learner_device", "acting_device"])
def test_a_device_by_name_must_be_there(key, monkeypatch):
    monkeypatch.setattr(th.cuda, "is_available", lambda: False)
    assert check_config(recursive_dict_update(default_config(), {key: "cpu"}))[key] == "cpu"
    with pytest.raises(ConfigError, match=f"{key}=cuda: there is no CUDA device here"):
        check_config(recursive_dict_update(default_config(), {key: "cuda"}))
    with pytest.raises(ConfigError, match=f"{key}=cdua: no such choice. Did you mean 'cuda'"):
        check_config(recursive_dict_update(default_config(), {key: "cdua"}))


@pytest.fixture
def two_cards(monkeypatch):
    monkeypatch.setattr(th.cuda, "is_available", lambda: True)
    monkeypatch.setattr(th.cuda, "device_count", lambda: 2)


@pytest.mark.parametrize("key", ["learner_device", "acting_device"])
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("cuda:7", r"this machine has no such device\. Did you mean 'cuda:\d'\? This machine has cpu, cuda:0, cuda:1"),
        ("mps", "this machine has no such device.* This machine has cpu, cuda:0, cuda:1"),
        ("gpu", "no such choice. Did you mean 'cuda'"),
        ("gpu:1", "no such choice. Did you mean 'cuda:1'"),
        ("CUDA", "no such choice. Did you mean 'cuda'"),
        ("cuda:x", "no such choice. Did you mean 'cuda"),
        ("cuda:-1", "no such choice. Did you mean 'cuda:1'"),
        ("cuda:²", "no such choice"),
        ("", "no such choice. Allowed: auto, cpu, cuda, cuda:N"),
    ],
)
def test_a_device_is_refused_with_those_of_the_machine(key, name, problem, two_cards):
    with pytest.raises(ConfigError, match=f"^{key}={name}: {problem}"):
        check_config(recursive_dict_update(default_config(), {key: name}))


@pytest.mark.parametrize("name", ["auto", "cpu", "cuda", "cuda:0", "cuda:1"])
def test_devices_that_are_there(name, two_cards):
    assert check_config(recursive_dict_update(default_config(), {"learner_device": name}))["learner_device"] == name


def test_overlap_needs_a_learner_that_replays():
    config = recursive_dict_update(
        default_config(),
        {"learner": "coma_learner", "agent_output_type": "pi_logits", "action_selector": "multinomial"},
    )
    check_config(config)
    with pytest.raises(ConfigError, match=r"collection=async \(overlap=True\) does not go with learner=coma_learner"):
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


@pytest.fixture
def tried(monkeypatch, tmp_path):
    """Lets another program be the trial, and counts how often it runs."""

    def use(program):
        (tmp_path / "trial.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('x')\n{program}\n")
        monkeypatch.setattr(machine, "TRIAL", tmp_path / "trial.py")
        return lambda: len((tmp_path / "ran").read_text()) if (tmp_path / "ran").exists() else 0

    machine._problem_with_bfloat16.cache_clear()
    yield use
    machine._problem_with_bfloat16.cache_clear()


BFLOAT16 = {"precision": "bfloat16", "learner_device": "cpu"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "how"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "a trial was ended by SIGILL"),
        ("raise RuntimeError('mkldnn says no')", "a trial failed: RuntimeError: mkldnn says no"),
        ("import sys; sys.exit(3)", "a trial failed: exit code 3"),
        ("import time; time.sleep(60)", "a trial took longer than 1 seconds"),
    ],
)
def test_bfloat16_is_tried_in_another_process(tried, program, how, monkeypatch):
    monkeypatch.setattr(machine, "TRIAL_TIMEOUT", 1 if "sleep" in program else 120)
    tried(program)
    with pytest.raises(ConfigError, match=f"precision=bfloat16: the cpu .*{how}. Use precision=float32."):
        check_config(recursive_dict_update(default_config(), BFLOAT16))


def test_bfloat16_is_tried_once_and_only_if_asked_for(tried):
    runs = tried("")
    check_config(default_config())
    assert runs() == 0
    for _ in range(2):
        check_config(recursive_dict_update(default_config(), BFLOAT16))
    assert runs() == 1


@pytest.mark.slow
def test_the_trial_itself(tried):
    """Where it succeeds, so does computing in this process."""
    assert check_config(recursive_dict_update(default_config(), BFLOAT16))["precision"] == "bfloat16"


def test_captured_graphs_exclude_compiling():
    both = {"compile": "on", "cuda_graphs": "on"}
    with pytest.raises(ConfigError, match="never tried together"):
        check_config(recursive_dict_update(default_config(), both))
