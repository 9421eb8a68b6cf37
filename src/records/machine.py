"""What a run takes of its machine: processors and memory by psutil, graphics cards by NVIDIA's nvidia-ml-py."""

import threading
from collections import defaultdict
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from utils.errors import ConfigError

INSTALL = "pip install -r requirements-machine.txt"
MB = 2**20


def require_packages(gpu: bool) -> None:
    """Refuse to sample, graphics cards if `gpu`, without the packages for it, with a ConfigError."""
    for module, package in (("psutil", "psutil"), *((("pynvml", "nvidia-ml-py"),) if gpu else ())):
        if find_spec(module) is None:
            raise ConfigError(
                f"machine_interval needs the package '{package}', which is not installed. Install it with: {INSTALL}"
            )


class MachineSampler:
    """Takes a sample every `interval` seconds, of NVIDIA's cards, too, if `gpu`; in a thread, until `close`."""

    def __init__(self, interval: float, gpu: bool = False):
        import psutil

        self._psutil, self._process = psutil, psutil.Process()
        self._cards = _cards() if gpu else []
        self._sums: dict[str, float] = defaultdict(float)
        self._samples = 0
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._of_children: dict[int, Any] = {}
        self._measure()  # the use of processors is that since the sample before
        self._thread = threading.Thread(target=self._sample, args=(interval,), name="machine", daemon=True)
        self._thread.start()

    def means(self) -> dict[str, float]:
        """The means of the samples since the last call, by name; empty without any."""
        with self._lock:
            sums, samples = self._sums, self._samples
            self._sums, self._samples = defaultdict(float), 0
        return {name: total / samples for name, total in sums.items()} if samples else {}

    def close(self) -> None:
        """Stop sampling."""
        self._stop.set()
        self._thread.join()

    def _sample(self, interval: float) -> None:
        # psutil measures the machine's since the last call of the same thread; the first one gets 0
        self._psutil.cpu_percent(percpu=True)
        while not self._stop.wait(interval):
            figures = self._measure()
            with self._lock:
                self._samples += 1
                for name, value in figures.items():
                    self._sums[name] += value

    def _measure(self) -> dict[str, float]:
        cores = self._psutil.cpu_percent(percpu=True)
        memory = self._psutil.virtual_memory()
        own_cpu, own_memory = self._own()
        figures = {
            "cpu_percent": sum(cores) / len(cores),
            "busiest_core_percent": max(cores),
            "run_cpu_percent": own_cpu,
            "run_memory_mb": own_memory / MB,
            "memory_used_mb": (memory.total - memory.available) / MB,
        }
        for index, card in enumerate(self._cards):
            figures |= {f"gpu{index}_{name}": value for name, value in card().items()}
        return figures

    def _own(self) -> tuple[float, float]:
        """Processor (100 is one core) and memory of this process and those that it started."""
        found = {child.pid: child for child in self._process.children(recursive=True)}
        # the objects of the sample before know how busy their processes were then
        self._of_children = {pid: self._of_children.get(pid, child) for pid, child in found.items()}
        cpu, memory = self._process.cpu_percent(), self._process.memory_info().rss
        for child in self._of_children.values():
            with suppress(self._psutil.Error):  # it has ended
                cpu, memory = cpu + child.cpu_percent(), memory + child.memory_info().rss
        return cpu, memory


def _cards() -> list:
    """For each card, a function that measures it."""
    import pynvml

    pynvml.nvmlInit()
    handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]

    def measured(handle: Any) -> dict[str, float]:
        return {
            "percent": float(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu),
            "memory_mb": pynvml.nvmlDeviceGetMemoryInfo(handle).used / MB,
        }

    return [lambda handle=handle: measured(handle) for handle in handles]
