"""Where a run's parts compute: the one place that makes devices of config keys.

A device is named as torch names it: `cpu`, `cuda` (the first card), `cuda:1`, `mps`. torch is imported where it is
needed only.
"""

import re
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from utils.errors import ConfigError
from utils.nearest import did_you_mean
from utils.plain_values import quoted
from utils.processes.available_memory import available_memory

AUTO, CPU, CUDA, MPS = "auto", "cpu", "cuda", "mps"
DEVICE_KEYS = ("learner_device", "acting_device")
# what a program sets that computes on the CPU, whatever the config says that it reads
ON_CPU = {"use_cuda": False, **dict.fromkeys(DEVICE_KEYS, AUTO)}
CARD = re.compile(rf"{CUDA}(?::(\d{{1,4}}))?", re.ASCII)


def cards() -> int:
    """The number of CUDA devices of this machine."""
    import torch as th

    return th.cuda.device_count()


def uses_cards(config: Mapping[str, Any]) -> bool:
    """Whether `use_cuda` is on and there is a card."""
    import torch as th

    return bool(config["use_cuda"]) and th.cuda.is_available()


def devices_here() -> list[str]:
    """The devices of this machine."""
    import torch as th

    numbers = range(cards()) if th.cuda.is_available() else ()
    return [CPU, *(f"{CUDA}:{card}" for card in numbers), *([MPS] if th.backends.mps.is_available() else [])]


def require_device(key: str, name: str) -> None:
    """Refuse a device that this machine does not have; `auto` is there always.

    Raises:
        ConfigError: the name is of no device, or of none of this machine.
    """
    if name in (AUTO, CPU):
        return
    here, card = devices_here(), CARD.fullmatch(name)
    known = is_name_of_device(name)
    if known and (f"{CUDA}:{int(card[1] or 0)}" if card else name) in here:
        return
    has = f"This machine has {', '.join(here)}."
    if known:
        none = "there is no CUDA device here" if card and "cuda:0" not in here else "this machine has no such device"
        # a suggestion of another device than a card's would be none for who asks for a card
        alike = did_you_mean(name, [device for device in here if device != CPU])
        raise ConfigError(f"{key}={quoted(name)}: {none}.{alike} {has} Use {key}=auto or one of these.")
    # who writes gpu means a card, though cpu looks more like it
    hint = did_you_mean(re.sub("^gpu", CUDA, name.lower()), [AUTO, CPU, CUDA, MPS, *here])
    raise ConfigError(
        f"{key}={quoted(name)}: no such choice.{hint} Allowed: auto, cpu, cuda, cuda:N (card N, from 0) and mps. {has}"
    )


def is_name_of_device(name: str) -> bool:
    """Whether a machine may have such a device."""
    return name in (CPU, MPS) or CARD.fullmatch(name) is not None


def without_missing_devices(config: Mapping[str, Any]) -> dict[str, str]:
    """The keys of a config whose device another machine had and this one has not, with `auto` instead."""
    missing = {}
    for key in DEVICE_KEYS:
        try:
            require_device(key, str(config[key]))
        except ConfigError:
            missing[key] = AUTO
    return missing


def learner_device(config: Mapping[str, Any]) -> str:
    """Device of the learner: `learner_device`; auto: the first card if `use_cuda` is on and there is one, or the CPU.

    On a Mac, auto is the CPU: mps is untried, and networks as small as most here seldom gain by it.
    """
    if config["learner_device"] == AUTO:
        return CUDA if uses_cards(config) else CPU
    return named(config["learner_device"])


def acting_device(args: SimpleNamespace) -> str:
    """Device of the acting networks and their inputs: `acting_device`.

    auto: what assembly chose (`experiment.acting_place`), and before that the learner's.
    """
    if args.acting_device == AUTO:
        return vars(args).get("acts_on", args.device)
    return named(args.acting_device)


def collector_device(args: SimpleNamespace) -> str:
    """Device of a process that only plays: `acting_device`; auto: the CPU, for each would take a share of the card."""
    return CPU if args.acting_device == AUTO else named(args.acting_device)


def named(name: str) -> str:
    """The device by the name that is compared and shown: the first card is `cuda`, as in PyMARL."""
    card = CARD.fullmatch(name)
    return name if card is None else f"{CUDA}:{int(card[1])}" if int(card[1] or 0) else CUDA


def kind_of(device: Any) -> str:
    """`cpu`, `cuda` or `mps`, of a device or its name."""
    return str(device).partition(":")[0]


def card_of(device: Any) -> int | None:
    """The number of a card, of a device or its name; None: it is none of CUDA's."""
    card = CARD.fullmatch(str(device))
    return None if card is None else int(card[1] or 0)


def same_device(one: Any, other: Any) -> bool:
    """Whether these devices, or their names, are of one memory."""
    return named(str(one)) == named(str(other))


def to_device(tensor: Any, device: Any) -> Any:
    """The tensor on a device; nobody waits for the card that it goes to, as `to` alone would.

    torch reads main memory before it returns, unless that is pinned; what comes back from a card must be waited for.
    """
    leaves = kind_of(device) == CUDA and kind_of(tensor.device) == CPU
    return tensor.to(device, non_blocking=leaves and not tensor.is_pinned())


def move_to(device: str, part: Any) -> None:
    """Move a part's networks, which are made on the CPU, to `device`.

    PyMARL's parts have a method for that, `cuda()`. For any device but the first card, whatever it would send there
    goes to `device`.
    """
    if device == CPU:
        return
    if device == CUDA:
        part.cuda()
        return
    from utils.tensors.redirected import redirected

    with redirected(CUDA, device):
        part.cuda()


def device_memory(device: str) -> int | None:
    """Bytes that can still be taken on `device`, or None where that cannot be known."""
    if kind_of(device) == CPU:
        return available_memory()
    import torch as th

    if kind_of(device) == MPS:
        return max(0, th.mps.recommended_max_memory() - th.mps.driver_allocated_memory())
    return th.cuda.mem_get_info(device)[0]


def release_memory() -> None:
    """Give the memory of cards back that torch keeps for later tensors."""
    import torch as th

    if th.cuda.is_available():
        th.cuda.empty_cache()
    if th.backends.mps.is_available():
        th.mps.empty_cache()


def waiting_for(devices: set[str]) -> Callable[[], None] | None:
    """A function that waits until these devices have done what they were given; None if all of them are the CPU."""
    import torch as th

    away = sorted(devices - {CPU})

    def wait() -> None:
        for device in away:
            if kind_of(device) == MPS:
                th.mps.synchronize()
            else:
                th.cuda.synchronize(device)

    return wait if away else None
