"""The timer, the monitor and the view of the machine that a config asks for."""

from functools import partial
from types import SimpleNamespace

from records.diagnostics import Diagnostics
from records.logger import Logger
from records.machine import MachineSampler
from utils.tensors.devices import acting_device, waiting_for
from utils.timing import Timer


def diagnostics_of(args: SimpleNamespace, logger: Logger) -> Diagnostics:
    """See `records.diagnostics`; with `timer: cuda`, the timer waits for the GPUs on which the run computes."""
    synchronise = waiting_for({args.device, acting_device(args)}) if args.timer == "cuda" else None
    timer = None if args.timer == "off" else Timer(synchronise)
    interval = args.machine_interval
    sampler = partial(MachineSampler, interval, args.use_cuda) if interval else None
    return Diagnostics(logger.console_logger, logger, timer, sampler)
