"""An environment's announced sizes are checked before anything is made from them."""

import numpy as np
import pytest

from envs import REGISTRY
from envs.contract.declarations import check_sizes
from experiment.assembly import assemble
from fakes import RecordingLogger
from helpers import make_args
from odd_envs import Large, LargeBatch
from utils.errors import MusterError
from utils.processes.shared_memory import NamelessMemory
from vector_envs.step_arrays import StepArrays

GOOD = {"n_agents": 2, "n_actions": np.int64(3), "episode_limit": 6, "obs_shape": (3, 4), "state_shape": [5]}


def test_whole_numbers_of_any_library_and_tuples_of_them_are_taken():
    check_sizes(GOOD)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("n_agents", 0, "is 0"),
        ("n_agents", None, "is None"),
        ("n_actions", 3.0, "is 3.0"),
        ("n_actions", True, "is True"),
        ("episode_limit", -5, "is -5"),
        ("episode_limit", (6,), r"is \(6,\)"),
        ("obs_shape", "30", "is '30'"),
        ("obs_shape", (), r"is \(\): it must be a whole number from 1 to 2147483647, or a tuple of such"),
        ("state_shape", (3, 0), r"is \(3, 0\)"),
        ("state_shape", np.zeros(3), "is array"),
    ],
)
def test_anything_else_is_refused_by_name(key, value, words):
    with pytest.raises(MusterError, match=rf"get_env_info\(\)\['{key}'\] {words}"):
        check_sizes({**GOOD, key: value})


def test_a_missing_size_and_no_sizes_at_all():
    with pytest.raises(MusterError, match="has no 'n_actions'; it has n_agents"):
        check_sizes({key: value for key, value in GOOD.items() if key != "n_actions"})
    with pytest.raises(MusterError, match="returned None"):
        check_sizes(None)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"obs_shape": 10**13}, r"\['obs_shape'\] is 10000000000000: it must be a whole number from 1 to 2147483647"),
        ({"n_actions": 10**40}, r"\['n_actions'\] is 10{40}: "),
        ({"obs_shape": (1,) * 17}, r"\['obs_shape'\] is \(1, 1, "),
        ({"state_shape": (2**31 - 1,) * 16}, r"One step of 8 environments \(.*\) does not fit"),
        ({"n_agents": 2**31 - 1, "obs_shape": np.int64(2**31 - 1)}, r"up to 128\.0 EiB, where"),
    ],
)
def test_sizes_beyond_sense_or_memory_are_refused(sizes, words):
    with pytest.raises(MusterError, match=words):
        check_sizes({**GOOD, **sizes}, environments=8)


RUNNERS = [
    {"runner": "episode"},
    {"runner": "parallel", "env_transport": "pipe", "batch_size_run": 2},
    {"runner": "parallel", "env_transport": "shared_memory", "batch_size_run": 2},
    {"runner": "batched", "batch_size_run": 2},
    {"runner": "batched", "batched_mode": "continuous", "batch_size_run": 2},
    {"runner": "rollout", "batch_size_run": 2},
]


@pytest.fixture
def large(monkeypatch):
    """Assembles a run on environments that announce `figures`."""
    monkeypatch.setitem(REGISTRY._entries, "large", None)
    REGISTRY.declare("large", Large, "announces much", batched=LargeBatch)

    def build(figures, **keys):
        return assemble(make_args(env="large", env_args={"figures": figures, "seed": 1}, **keys), RecordingLogger())

    return build


@pytest.mark.parametrize("runner", ["episode", "parallel", "batched", "rollout"])
def test_every_runner_looks(runner, large):
    with pytest.raises(MusterError, match=r"\['obs_shape'\] is -1"):
        large({"obs_shape": -1}, runner=runner)


@pytest.mark.parametrize("keys", RUNNERS, ids=lambda keys: " ".join(map(str, keys.values())))
def test_a_step_that_does_not_fit_is_refused_before_anything_is_allocated(keys, large, monkeypatch):
    def never(*_):
        raise AssertionError("allocated")

    monkeypatch.setattr(NamelessMemory, "grow", never)
    monkeypatch.setattr(StepArrays, "allocate", never)
    monkeypatch.setattr("envs.contract.declarations.available_memory", lambda: 2**20)
    with pytest.raises(
        MusterError, match=r"One step of . environments? \(.*obs_shape=200000.* does not fit: .*1\.0 MiB"
    ):
        large({"obs_shape": 200_000}, **keys)


@pytest.mark.parametrize("keys", RUNNERS[2:], ids=lambda keys: " ".join(map(str, keys.values())))
def test_episodes_that_do_not_fit_are_refused_before_anything_is_allocated(keys, large, monkeypatch):
    monkeypatch.setattr("runners.base.device_memory", lambda device: 2**20)
    words = rf"The batch of runner={keys['runner']} \(. episodes of up to 1000001 steps\) does not fit"
    with pytest.raises(MusterError, match=words):
        large({"episode_limit": 10**6}, **keys)


def test_processes_that_do_not_fit_are_not_started(monkeypatch):
    monkeypatch.setattr("vector_envs.sources.available_memory", lambda: 2**20)
    args = make_args(env="two_step", env_args={"seed": 1}, runner="parallel", batch_size_run=90, envs_per_worker=4)
    with pytest.raises(MusterError, match=r"batch_size_run=90 \(23 environment processes\) does not fit"):
        assemble(args, RecordingLogger())


@pytest.mark.parametrize(
    ("key", "learner"),
    [
        ("rnn_hidden_dim", {}),
        ("mixing_embed_dim", {"mixer": "qmix"}),
        ("mixing_embed_dim", {"learner": "qtran_learner", "mixer": "qtran_base"}),
        ("hypernet_embed", {"mixer": "qmix", "hypernet_layers": 2}),
    ],
)
@pytest.mark.parametrize("width", [10_000, 9 * 10**11])
def test_networks_that_do_not_fit_are_not_built(key, learner, width, monkeypatch):
    monkeypatch.setattr("experiment.assembly.device_memory", lambda device: 2**20)
    args = make_args(env="two_step", env_args={"seed": 1}, **{key: width}, **learner)
    with pytest.raises(MusterError, match=rf"The learner's memory for the weights .* does not fit.*{key}={width}"):
        assemble(args, RecordingLogger())


def test_a_sample_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr("components.buffers.episodes.device_memory", lambda device: 2**20)
    # a one-hot action is 4 bytes in a sample, and nothing in the buffer
    args = make_args(env="two_step", env_args={"seed": 1}, batch_size=4000, buffer_size=4000)
    with pytest.raises(MusterError, match=r"A training sample \(4000 episodes\) does not fit"):
        assemble(args, RecordingLogger())
