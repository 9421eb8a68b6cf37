"""`profile: trace`: what torch computes in chosen rounds, as files that Perfetto and TensorBoard open."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import SimpleNamespace
from typing import Any

from records.layout import TRACES
from records.run_folder import RunFolder
from utils.tensors.devices import CUDA, acting_device, kind_of
from utils.timing import marking

# the ending by which TensorBoard's plugin for torch knows a trace
ENDING = ".pt.trace.json.gz"


class Tracing:
    """Records `trace_rounds` rounds from each of the steps `trace_at` on, into `traces/step-<at>.pt.trace.json.gz`.

    A trace that is there already is not made again, so that a resumed run records only what is missing. What is
    computed does not change. A file that cannot be written is reported, and the run continues.

    Args:
        args: the config.
        folder: of the run; where it is not open, nothing is recorded. It is looked at with `profile: trace` only.
    """

    def __init__(self, args: SimpleNamespace, folder: Callable[[], RunFolder], console: logging.Logger):
        self._args, self._console = args, console
        self._wanted: list[int] = []
        if args.profile == "trace":
            self._folder = folder()
            self._path = self._folder.path / TRACES
            self._wanted = sorted({at for at in args.trace_at if not (self._path / name_of(at)).exists()})
        self._at = self._rounds = 0
        self._profiler: Any = None
        self._within = ExitStack()

    @contextmanager
    def round(self, t_env: int) -> Iterator[None]:
        """Around a rollout and its updates, which begin after `t_env` environment steps."""
        if self._profiler is None and self._wanted and t_env >= self._wanted[0]:
            self._begin(t_env)
        yield
        if self._profiler is not None:
            self._rounds += 1
            if self._rounds == self._args.trace_rounds:
                self.close()

    def close(self) -> None:
        """End the trace that is being recorded, and write it."""
        if self._profiler is None:
            return
        profiler, self._profiler = self._profiler, None
        path = self._path / name_of(self._at)
        unfinished = path.with_name(f".{os.getpid()}{ENDING}")
        try:
            self._within.close()
            self._path.mkdir(mode=0o700, exist_ok=True)
            profiler.export_chrome_trace(str(unfinished))
            os.replace(unfinished, path)
        except (OSError, RuntimeError) as error:
            with suppress(OSError):
                unfinished.unlink()
            self._console.warning(f"The trace {path} could not be written: {error}")
        else:
            self._console.info(f"Trace: {path} (open it in https://ui.perfetto.dev or TensorBoard)")

    def _begin(self, t_env: int) -> None:
        import torch.profiler as torch_profiler

        passed = [at for at in self._wanted if at <= t_env]
        self._at, self._rounds = passed[-1], 0
        del self._wanted[: len(passed)]
        if not self._folder.is_open:
            self._console.warning(f"There is no trace from step {self._at} on: this run keeps no results.")
            return
        kinds = [torch_profiler.ProfilerActivity.CPU]
        if CUDA in {kind_of(self._args.device), kind_of(acting_device(self._args))}:
            kinds.append(torch_profiler.ProfilerActivity.CUDA)
        self._profiler = torch_profiler.profile(activities=kinds, record_shapes=True)
        self._within.enter_context(self._profiler)
        self._within.enter_context(marking(torch_profiler.record_function))


def name_of(at: int) -> str:
    """The file of the trace that begins at a step."""
    return f"step-{at}{ENDING}"
