"""Collectors as actors of Ray's, on any machines of a cluster (`collection.transport.Transport`).

Weights go to Ray once for each version, and from there once to each machine. A rollout is copied on arrival: Ray's
arrays are read-only, and lost with the machine that made them. An actor that is gone is replaced by the pool, wherever
there is room: Ray itself repeats nothing.
"""

import logging
import pickle
import sys
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from collection import ray_relay
from collection.collector_board import PLAYING, SENDING, STARTING, CollectorBoard
from collection.collector_process import FAILED, PLAY, Job
from collection.weights import SharedWeights
from utils.processes.child_process import CLOSE_TIMEOUT
from utils.processes.ray_cluster import RayCluster

SOURCE = str(Path(__file__).resolve().parents[1])
# calls that an actor answers beside `heard`, which waits for its collector
GROUPS = {"orders": 1, "weights": 1}


class OnRay:
    """Connects to the cluster, and starts actors.

    Args: see `collection.collector_pool.CollectorPool`.

    Raises:
        ConfigError: there is no such cluster.
    """

    def __init__(self, job: Job, weights: SharedWeights, options: dict[str, Any], console: logging.Logger):
        self.board, self._weights, self._console = CollectorBoard(job.size), weights, console
        self.asked = {key: options[key] for key in ("cpus", "gpus")}
        # a cluster of our own has room for all of them, as it has for processes
        own = int(np.ceil(job.size * options["cpus"]))
        self.cluster = RayCluster(options["address"] or None, own)
        self.ray = self.cluster.ray
        self.ray.cloudpickle.register_pickle_by_value(ray_relay)
        self._actors = self.ray.remote(concurrency_groups=GROUPS)(ray_relay.Relay)
        self._links: dict[int, RayLink] = {}
        # the newest weights that Ray has
        self._shipped: tuple[int, Any] = (-1, None)
        self._hosts: dict[str, None] = {}

    def start(self, job: Job) -> tuple["RayLink", "RayLink"]:
        name = f"collector-{job.index}"
        place = {"num_cpus": self.asked["cpus"], "num_gpus": self.asked["gpus"], "scheduling_strategy": "SPREAD"}
        actors = self._actors.options(**place, max_restarts=0, max_task_retries=0)
        actor = actors.remote(
            SOURCE, sys.path, pickle.dumps(job), job.index, job.size, name, self._weights.block.nbytes
        )
        link = self._links[job.index] = RayLink(self, actor, job.index)
        return link, link

    def publish(self) -> None:
        """Send weights to the actors that have received the last ones."""
        for link in self._links.values():
            if link.has_weights():
                link.ship()

    def newest(self) -> tuple[int, Any]:
        """The version of the learner's weights, and Ray's reference to them."""
        if (version := self._weights.version) != self._shipped[0]:
            self._shipped = version, self.ray.put(self._weights.block.copy())
        return self._shipped

    def stop_playing(self) -> None:
        for link in self._links.values():
            link.stop_playing()

    def wait(self, connections: Iterable["RayLink"], seconds: float) -> list["RayLink"]:
        links, end = list(connections), time.monotonic() + seconds
        while True:
            self.gather(links, 0.0)
            ready = [link for link in links if link.inbox or link.gone]
            left = end - time.monotonic()
            if ready or left <= 0:
                return ready
            self.gather(links, left)

    def gather(self, links: Iterable["RayLink"], seconds: float) -> None:
        """Receive what there is of these, waiting so long for the first answer, which may hold no message."""
        asked = {link.answer: link for link in links if link.answer is not None}
        if asked:
            ready, _ = self.ray.wait(list(asked), num_returns=1, timeout=seconds)
            if ready and len(asked) > 1:
                ready, _ = self.ray.wait(list(asked), num_returns=len(asked), timeout=0)
            for answer in ready:
                asked[answer].take_answer()
        elif seconds:
            time.sleep(seconds)

    def versions(self, before: np.ndarray) -> np.ndarray:
        """Those of now: an actor reads its board after all messages that it has passed on with it."""
        return self.board.versions.copy()

    def note(self, index: int, about: dict[str, Any]) -> None:
        """Take over what an actor says of its collector and its machine."""
        board = self.board
        if about.get("state", STARTING) != STARTING:
            # one that does not play gets a version with the order to play
            if about["state"] in (PLAYING, SENDING):
                board.versions[index] = about["version"]
            board.states[index] = about["state"]
            board.beats[index] = time.monotonic() - about["silent"]
        if about["niceness"] > 0 and about["host"] not in self._hosts:
            self._console.warning(
                f"Collectors on {about['host']} run with the niceness {about['niceness']}, and get little beside other "
                "programs: start its Ray with RAY_worker_niceness=0 in the environment."
            )
        self._hosts[about["host"]] = None

    def close(self) -> None:
        self.cluster.close()


class RayLink:
    """A collector's connection and process in one: an actor.

    Attributes:
        inbox: messages that have come, of arrays that are ours.
        answer: reference to the actor's next answer; None: it is gone.
        gone: how it ended.
    """

    def __init__(self, transport: OnRay, actor: Any, index: int):
        self._transport, self._actor, self._index = transport, actor, index
        self._ray = transport.ray
        self.inbox: deque[tuple[str, Any]] = deque()
        self.gone = ""
        self._sent, self._version, self._receipt = 0, -1, None
        # messages of a collector that has not started: it is to begin with the weights of then. None: it has
        self._held: list[tuple[str, Any]] | None = []
        self._answered = False
        self.answer: Any = actor.heard.remote()

    def send(self, message: tuple[str, Any]) -> None:
        """Send a message; the order is kept, and weights go before the rollouts that need them."""
        if self._held is not None:
            self._held.append(message)
            return
        if message[0] == PLAY:
            self.ship()
        content = np.frombuffer(pickle.dumps(message), np.uint8)
        told = self._actor.tell.options(concurrency_group="orders")
        told.remote(self._sent, content, self._version)
        self._sent += 1

    def stop_playing(self) -> None:
        """Let the collector stop after the present step of its environments."""
        if not self.gone:
            self._actor.stop_playing.options(concurrency_group="orders").remote()

    def ship(self) -> None:
        """Send the newest weights, if they were not."""
        version, block = self._transport.newest()
        if version != self._version:
            self._version = version
            self._receipt = self._actor.weights.options(concurrency_group="weights").remote(version, block)

    def has_weights(self) -> bool:
        """Whether the last weights have arrived."""
        return self._receipt is None or bool(self._ray.wait([self._receipt], timeout=0)[0])

    def poll(self) -> bool:
        """Whether there is a message, or the end."""
        self._transport.gather([self], 0.0)
        return bool(self.inbox or self.gone)

    def recv(self) -> tuple[str, Any]:
        """The next message. Raises: EOFError: the actor or its collector is gone."""
        while not self.inbox:
            if self.gone:
                raise EOFError
            self._transport.gather([self], 1.0)
        return self.inbox.popleft()

    def take_answer(self) -> None:
        """Receive an answer that has come, and ask for the next one."""
        answer, self.answer = self.answer, None
        try:
            about = self._ray.get(answer)
        except self._ray.exceptions.RayError as error:
            self.gone = f"its actor of Ray's, or its machine, is gone ({type(error).__name__})"
            return
        self._answered = True
        self._transport.note(self._index, about)
        # loads copies: the arrays that come are Ray's
        self.inbox.extend(pickle.loads(memoryview(one)) for one in about["messages"])  # noqa: S301 - of our collector
        if self._held is not None and about.get("state", STARTING) != STARTING:
            held, self._held = self._held, None
            # until it plays, it counts as one of the weights that it is sent now
            self._transport.board.versions[self._index] = self._transport.newest()[0]
            for message in held:
                self.send(message)
        if about["fault"]:
            self.inbox.append((FAILED, (about["fault"], True)))
        self.gone = about["gone"]
        if not self.gone:
            self.answer = self._actor.heard.remote()

    def close(self) -> None:
        """Nothing more will be asked."""
        self.answer = None

    def died(self, doing: str) -> str:
        """As a child process's."""
        self.kill()
        return f"died in {doing}: {self.gone or 'it does not answer'}."

    def hangs(self, doing: str, seconds: float, key: str) -> str:
        """As a child process's."""
        self.kill()
        if self._answered:
            return f"did not answer to {doing} for {seconds:g} seconds ({key}) and was killed."
        room = self._transport.cluster.has_room(**self._transport.asked)
        return f"did not start within {seconds:g} seconds" + (
            "." if room else ": no machine of the cluster has room for it (collectors.cpus, collectors.gpus)."
        )

    def end(self, seconds: float = CLOSE_TIMEOUT) -> None:
        """Wait for the collector's end for so long, then kill it; at once if it has not started."""
        if self._held is not None:
            self.kill()
            return
        ended = self._actor.end.options(concurrency_group="orders").remote(seconds)
        self._ray.wait([ended], timeout=seconds + 1)
        self.kill()

    def kill(self) -> None:
        """End actor and collector: at once, or, when the machine does not answer, as soon as Ray can."""
        self._ray.kill(self._actor, no_restart=True)
