"""The contract of the logger's sinks: the receivers of statistics beside the console, the metric log and Sacred."""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from records.fault_notice import FaultNotice


class Sink(Protocol):
    """A destination of every logged value: TensorBoard, Weights & Biases, MLflow.

    No method raises because of failed writes or connections; missing values are kept and retried.

    Attributes:
        name: under which the logger keeps the sink's state in a checkpoint.
    """

    name: str

    def log_value(self, key: str, value: float, step: int) -> None:
        """Take one value, which may be NaN or infinite, after `step` environment steps."""

    def flush(self) -> None:
        """Write waiting values."""

    def state_dict(self) -> dict:
        """Where the sink is, as plain numbers and strings, for `resume` in a later session."""

    def resume(self, state: dict, stats: Mapping[str, list[tuple[int, float]]]) -> None:
        """Continue from `state_dict` of an earlier session, before anything is logged; each value is there once.

        Args:
            state: empty if the earlier session did not have this sink.
            stats: all values up to then, by statistic: [(step, value), ...].
        """

    def close(self, finished: bool) -> None:
        """Write waiting values and end; `finished` is False for a run that was interrupted or failed."""


@runtime_checkable
class ModelSink(Protocol):
    """A sink that keeps models, too."""

    def take_model(self, folder: Path) -> None:
        """Keep the files of `folder`, models that were just saved there. It raises nothing."""


class Attachment(NamedTuple):
    """Something that a run leaves besides values.

    Attributes:
        kind: "model" (a folder), "video" or "page" (a file).
        name: under which a service shows it.
        step: environment steps of the run when it was made.
    """

    kind: str
    name: str
    path: Path
    step: int


@runtime_checkable
class AttachmentSink(Protocol):
    """A sink that takes files, too."""

    def attach(self, attachment: Attachment) -> None:
        """Take it, before `close`. It raises nothing."""


class Value(NamedTuple):
    """One logged value; `seconds` is the time of day at which it was logged."""

    key: str
    value: float
    step: int
    seconds: float


class ServiceSink(ABC):
    """A tracking service that gets the values in batches, through its own package.

    A resumed run starts a new record there, which gets the past first, as in Sacred: services cannot take back
    values from after the checkpoint.

    Args:
        what: how warnings call the service.
        console: where a fault is reported, once.
    """

    name: str
    # seconds between deliveries; after a fault the pause doubles from the first to the longest
    INTERVAL = 2.0
    FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0
    # values of one delivery
    BATCH = 1000

    def __init__(self, what: str, console: logging.Logger):
        self._what, self._console = what, console
        self._notice = FaultNotice(what, console)
        self._waiting: list[Value] = []
        self._begun = False
        self._pause = self.FIRST_PAUSE
        self._due = time.monotonic() + self.INTERVAL
        self.continues = ""

    def log_value(self, key: str, value: float, step: int) -> None:
        """Keep a value for the next delivery."""
        self._waiting.append(Value(key, value, step, time.time()))
        if time.monotonic() >= self._due:
            self._deliver_all()

    def flush(self) -> None:
        """Deliver waiting values, unless the service failed a short time ago."""
        if not self._notice.failing or time.monotonic() >= self._due:
            self._deliver_all()

    def state_dict(self) -> dict:
        """{"id": the record of this session}, if there is one."""
        return {"id": self._id()} if self._begun else {}

    def resume(self, state: dict, stats: Mapping[str, list[tuple[int, float]]]) -> None:
        """Begin a new record that continues `state["id"]`, and give it all values of the past, in order of steps."""
        self.continues = str(state.get("id", ""))
        now = time.time()
        past = [Value(key, value, step, now) for key, values in stats.items() for step, value in values]
        self._waiting = sorted(past, key=lambda value: value.step)

    def close(self, finished: bool) -> None:
        """Deliver the waiting values, even after failures, and end the record."""
        self._deliver_all()
        if self._waiting:
            self._console.warning(f"{self._what}: {len(self._waiting)} values never arrived; metrics.csv has them all.")
        if self._begun:
            try:
                self._end(finished)
            except Exception as error:
                self._notice.failed(error)

    def attach(self, attachment: Attachment) -> None:
        """Hand over a file or folder of a run that has ended, after its values; a fault is reported."""
        self._deliver_all()
        if not self._begun:
            return
        try:
            self._attach(attachment)
        except Exception as error:  # a foreign package and a server; neither ends a run
            self._console.warning(f"{self._what}: {attachment.path} was not delivered: {error}")

    def _deliver_all(self) -> None:
        if not self._waiting:
            return
        try:
            if not self._begun:
                self._begin()
                self._begun = True
            while self._waiting:
                batch = self._waiting[: self.BATCH]
                self._deliver(batch)
                del self._waiting[: len(batch)]
        except Exception as error:  # a foreign package and a server; neither ends a run
            self._notice.failed(error)
            self._due = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, self.LONGEST_PAUSE)
            return
        self._notice.worked()
        self._due, self._pause = time.monotonic() + self.INTERVAL, self.FIRST_PAUSE

    @abstractmethod
    def _begin(self) -> None:
        """Begin the record."""

    @abstractmethod
    def _id(self) -> str:
        """The service's name of the record."""

    @abstractmethod
    def _deliver(self, values: list[Value]) -> None:
        """Hand over a batch; it counts as delivered when this returns."""

    @abstractmethod
    def _attach(self, attachment: Attachment) -> None:
        """Hand over a file or folder, of which the service keeps a copy."""

    @abstractmethod
    def _end(self, finished: bool) -> None:
        """End the record."""
