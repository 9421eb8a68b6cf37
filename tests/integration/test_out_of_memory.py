"""Devices that have no memory left: what a run says, and that it keeps what it has learned."""

import logging
from types import SimpleNamespace

import pytest
import torch as th

from components.buffers.replay_buffer import ReplayBuffer
from controllers.basic_controller import BasicMAC
from experiment.out_of_memory import explanation
from gpu_runs import config_of, on_card, on_gpu, trained
from learners.q_learner import QLearner
from utils.errors import MusterError

CUDA = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.19 GiB is free."
    " Process 7 has 77 GiB memory in use."
)
PLACES = {"update": (QLearner, "train"), "acting": (BasicMAC, "forward"), "buffer": (ReplayBuffer, "__init__")}


def fault_of(config, place, on, error, after=0):
    """What a run says that runs out of memory at the call `after` so many."""
    owner, name = PLACES[place]
    usual, calls, keeps = getattr(owner, name), [], place != "buffer"

    def full(*arguments, **named):
        calls.append(place)
        if len(calls) > after:
            raise error
        return usual(*arguments, **named)

    setattr(owner, name, full)
    try:
        trained({**config, "checkpoint_interval": 5 if keeps else 0}, on, logging.Logger("quiet"))
    except MusterError as fault:
        return str(fault)
    finally:
        setattr(owner, name, usual)
    return ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "after", "remedies", "kept"),
    [
        ("update", 2, ["a smaller batch_size (2)", "a smaller batch_size_run"], True),
        ("acting", 30, ["a smaller batch_size_run"], True),
        ("buffer", 0, ["a smaller buffer_size", "buffer_cpu_only=True"], False),
    ],
)
def test_a_full_card_ends_a_run_with_sizes_keys_and_how_to_resume(place, after, remedies, kept):
    config = on_card(config_of("qmix", buffer_cpu_only=False))
    said = on_gpu(fault_of, config, place, "gpu", th.OutOfMemoryError(CUDA), after)
    assert said.startswith(
        "There is not enough memory on cuda (2.00 GiB were asked for, 8.0 GiB of 79.11 GiB are free)."
    )
    assert all(remedy in said for remedy in remedies) and "chunk_length" not in said and "minibatches" not in said
    assert kept == ("Everything up to step" in said and "Resume from the checkpoint" in said)
    if kept:
        assert "There, this run has a replay buffer of up to" in said and "networks and optimisers of" in said


@pytest.mark.slow
def test_main_memory_and_errors_without_a_kind_of_their_own():
    error = RuntimeError(
        "[enforce fail at alloc_cpu.cpp:1] DefaultCPUAllocator: can't allocate memory: you tried to "
        "allocate 4096 bytes. Error code 12"
    )
    said = fault_of(config_of("qmix"), "update", "cpu", error, after=2)
    assert said.startswith("There is not enough memory on cpu (4096 bytes were asked for, ")
    assert "a smaller buffer_size" in said


@pytest.mark.parametrize(
    ("reason", "device"),
    [
        (CUDA.replace("GPU 0", "GPU 1"), "cuda:1"),
        ("CUDA error: out of memory", "cuda:1"),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "cuda:1"),
        ("MPS backend out of memory (MPS allocated: 8.00 GB). Tried to allocate 1.00 GB on private pool.", "mps"),
        ("MemoryError", "cpu"),
    ],
)
def test_the_device_that_is_full(reason, device, monkeypatch):
    monkeypatch.setattr("experiment.out_of_memory.device_memory", lambda device: 2**20)
    config = config_of("ippo", acting_device="cpu")
    said = explanation(SimpleNamespace(**config, device="mps" if device == "mps" else "cuda:1"), reason)
    assert said.startswith(f"There is not enough memory on {device} (")
    assert f"The message was: {reason[:50]}" in said
    assert ("minibatches" in said) == (device != "cpu")
