"""Where a replay buffer is kept, and what the console is told."""

import logging
from types import SimpleNamespace

import pytest

from checks import check_config
from checks.options import Option
from components.buffers.place import place_of
from components.buffers.transition_room import device_of
from gpu_runs import config_of, on_gpu, resumed, trained
from utils.config.merging import default_config
from utils.errors import ConfigError

GIB = 2**30


@pytest.fixture
def free(monkeypatch):
    """Sets how many bytes each device has free."""

    def has_free(**sizes):
        monkeypatch.setattr("components.buffers.place.device_memory", lambda device: sizes[device.replace(":", "_")])

    return has_free


@pytest.mark.parametrize(
    ("device", "size", "place", "told"),
    [
        ("cuda", 4 * GIB, "cuda", ", on cuda: half of the 8.0 GiB that are free on cuda are enough"),
        ("cuda", 4 * GIB + 1, "cpu", ", in main memory: half of the 8.0 GiB that are free on cuda are too few"),
        ("cuda:1", 3 * GIB, "cuda:1", ", on cuda:1: half of the 6.0 GiB that are free on cuda:1 are enough"),
        ("mps", 1, "cpu", ", in main memory: how much mps has free is unknown"),
    ],
)
def test_auto_takes_at_most_half_of_what_the_gpu_has_free(device, size, place, told, free):
    free(cuda=8 * GIB, cuda_1=6 * GIB, mps=None)
    assert place_of("auto", device, size) == (place, f"{told} (buffer_cpu_only=auto)")


@pytest.mark.parametrize(
    ("device", "key", "place"),
    [("cpu", "auto", "cpu"), ("cpu", False, "cpu"), ("cuda", True, "cpu"), ("cuda", False, "cuda")],
)
def test_without_a_choice_nothing_is_said(device, key, place):
    """Nor is the memory looked at: pymarl's values hold however large the buffer is."""
    assert place_of(key, device, 10**15) == (place, "")


def test_pymarls_values_and_auto_are_taken():
    for value in (True, False, "auto"):
        assert check_config({**default_config(), "buffer_cpu_only": value})["buffer_cpu_only"] is value
    with pytest.raises(ConfigError, match="buffer_cpu_only=yes: no such choice"):
        check_config({**default_config(), "buffer_cpu_only": "yes"})
    with pytest.raises(ConfigError, match="buffer_cpu_only=1: no such choice"):
        check_config({**default_config(), "buffer_cpu_only": 1})


def test_choices_of_words_take_no_truth_values():
    with pytest.raises(ConfigError, match="key=True: expected text"):
        Option("a", "It is a.", choices=("a", "b")).checked("key", True)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["qmix", "iqn"])
@pytest.mark.parametrize(("memory", "place"), [(8 * GIB, "on cuda"), (2**10, "in main memory")])
def test_a_buffer_is_where_there_is_room_and_figures_are_the_same(algorithm, memory, place):
    config = config_of(algorithm)
    found, said, kept_on = on_gpu(_with_free, memory, config)
    (line,) = (line for line in said if line.startswith("Replay buffer:"))
    assert f", {place}: half of the " in line
    assert kept_on == [{"on cuda": "cuda", "in main memory": "cpu"}[place]]
    here = trained(config, "cpu")
    assert found.keys() == here.keys()
    for key in here:
        assert found[key] == pytest.approx(here[key], rel=1e-3, abs=1e-5, nan_ok=True), key


def _with_free(memory, config):
    from components.buffers import place
    from components.buffers.frame_ring import FrameRing
    from components.buffers.replay_buffer import ReplayBuffer

    said, kept_on, log = [], [], logging.Logger("place")
    log.addHandler(handler := logging.Handler())
    handler.emit = lambda record: said.append(record.getMessage())
    of_ring, of_episodes = FrameRing.__init__, ReplayBuffer.__init__

    def ring(self, *arguments):
        of_ring(self, *arguments)
        if arguments[3] > 2:  # not one that only shows what transforms make
            kept_on.append(self.device)

    def episodes(self, *arguments, **named):
        of_episodes(self, *arguments, **named)
        if str(self.device) != "meta":
            kept_on.append(self.device)

    device_memory = place.device_memory
    place.device_memory = lambda device: memory
    FrameRing.__init__, ReplayBuffer.__init__ = ring, episodes
    try:
        return trained(config, "gpu", log), said, kept_on
    finally:
        place.device_memory = device_memory
        FrameRing.__init__, ReplayBuffer.__init__ = of_ring, of_episodes


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["qmix", "iqn"])
@pytest.mark.parametrize(("first", "then"), [("auto", "auto"), ("auto", True), (True, "auto")])
def test_a_run_is_resumed_with_its_buffer_elsewhere(algorithm, first, then):
    config = config_of(algorithm)
    there = on_gpu(resumed, {**config, "buffer_cpu_only": first}, "gpu", {"buffer_cpu_only": then})
    here = resumed(config, "cpu")
    assert there.keys() == here.keys()
    for key in here:
        assert there[key] == pytest.approx(here[key], rel=1e-3, abs=1e-5, nan_ok=True), key


@pytest.mark.parametrize(("steps", "place"), [(2, "cpu"), (3, "cuda")])
def test_transitions_of_one_step_rollouts_stay_in_main_memory(steps, place, free):
    free(cuda=1000)
    args = SimpleNamespace(buffer_folder=None, buffer_cpu_only="auto", device="cuda")
    assert device_of(args, steps, 500)[0] == place
    args.buffer_cpu_only = False
    assert device_of(args, steps, 500)[0] == "cuda"
