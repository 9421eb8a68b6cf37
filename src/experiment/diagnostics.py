"""The timer, the monitor and the view of the machine that a config asks for."""

from functools import partial
from types import SimpleNamespace

import torch as th

from records.diagnostics import Diagnostics
from records.logger import Logger
from records.machine import MachineSampler
from utils.timing import Timer


def diagnostics_of(args: SimpleNamespace, logger: Logger) -> Diagnostics:
    """See `records.diagnostics`; with `timer: cuda`, and a GPU, the timer waits for the GPU."""
    synchronise = th.cuda.synchronize if args.timer == "cuda" and args.use_cuda else None
    timer = None if args.timer == "off" else Timer(synchronise)
    interval = args.machine_interval
    sampler = partial(MachineSampler, interval, args.use_cuda) if interval else None
    return Diagnostics(logger.console_logger, logger, timer, sampler)
