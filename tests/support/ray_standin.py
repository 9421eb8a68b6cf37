"""Ray without Ray: what a launcher of suites uses of it, and what collectors do.

What it imitates: `remote(f).options(...).remote(...)`, `wait`, `get`, `cancel`; workers that are killed. Tasks are
processes, as many at a time as there are CPUs. Of actors: groups of methods, `put`, `kill`, read-only arrays.
"""

import os
import signal
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor
from concurrent.futures import wait as futures_wait
from multiprocessing import connection
from types import SimpleNamespace

import psutil

from forked import CONTEXT


class RayError(Exception):
    pass


class TaskCancelledError(RayError):
    pass


class WorkerCrashedError(RayError):
    pass


class StandInCluster:
    """A cluster, with the interface of `utils.processes.ray_cluster.RayCluster`; `asked` has the last options."""

    own = True

    def __init__(self, cpus=2):
        self._cpus, self._tasks, self.asked, self.closed = cpus, [], {}, False
        self.ray = SimpleNamespace(
            remote=self._remote,
            wait=self._wait,
            get=self._get,
            cancel=self._cancel,
            exceptions=SimpleNamespace(RayError=RayError),
            cloudpickle=SimpleNamespace(register_pickle_by_value=lambda module: None),
        )

    def has_room(self, cpus, gpus, memory=0):
        return cpus <= self._cpus and not gpus

    def kill_worker(self, everything=True):
        """End a worker that has a task; with `everything`, also all that it started, as when a machine is gone."""
        task = next(task for task in self._tasks if task.process is not None and task.process.is_alive())
        family = psutil.Process(task.process.pid).children(recursive=True) if everything else []
        for one in [psutil.Process(task.process.pid), *family]:
            one.send_signal(signal.SIGKILL)

    def close(self):
        self.closed = True
        for task in self._tasks:
            if task.process is not None:
                task.process.kill()

    def _remote(self, function):
        def submit(*arguments):
            task = _Task(call=(function, arguments), process=None, pipe=None, cancelled=False)
            self._tasks.append(task)
            self._start()
            return task

        def options(**asked):
            self.asked = asked
            return SimpleNamespace(remote=submit)

        return SimpleNamespace(options=options)

    def _start(self):
        alive = sum(task.process is not None and task.process.is_alive() for task in self._tasks)
        for task in self._tasks:
            if task.process is None and not task.cancelled and alive < self._cpus:
                alive += 1
                task.pipe, theirs = CONTEXT.Pipe()
                task.process = CONTEXT.Process(target=_work, args=(theirs, *task.call))
                task.process.start()
                theirs.close()

    def _wait(self, tasks, num_returns=1, timeout=None):
        self._start()
        running = [task.pipe for task in tasks if task.pipe is not None]
        if not any(task.cancelled for task in tasks):
            connection.wait(running, timeout)
        ended = [task for task in tasks if task.cancelled or (task.pipe is not None and task.pipe.poll())]
        return ended[:num_returns], [task for task in tasks if task not in ended[:num_returns]]

    def _get(self, task):
        if task.cancelled:
            raise TaskCancelledError
        try:
            return task.pipe.recv()
        except EOFError:
            raise WorkerCrashedError from None
        finally:
            task.process.join()

    def _cancel(self, task):
        if task.process is None:
            task.cancelled = True
        else:
            os.kill(task.process.pid, signal.SIGINT)


class StandInActors:
    """A cluster whose actors are objects of this process: each group of their methods has a thread.

    Attributes:
        puts: how many objects were put. `actors`: all that were made.
        room: set while there is a machine for another actor.
    """

    own = True

    def __init__(self, *_):
        self.puts, self.actors, self.closed = 0, [], False
        self.room = threading.Event()
        self.room.set()
        self.ray = SimpleNamespace(
            remote=lambda concurrency_groups: (
                lambda kind: SimpleNamespace(options=lambda **asked: SimpleNamespace(remote=self._maker(kind)))
            ),
            put=self._put,
            wait=self._wait,
            get=self._get,
            kill=lambda actor, no_restart: actor.kill(),
            exceptions=SimpleNamespace(RayError=RayError),
            cloudpickle=SimpleNamespace(register_pickle_by_value=lambda module: None),
        )

    def has_room(self, cpus, gpus, memory=0):
        return True

    def close(self):
        self.closed = True

    def _maker(self, kind):
        def make(*arguments):
            self.actors.append(_Actor(lambda: kind(*arguments), self.room))
            return self.actors[-1]

        return make

    def _put(self, array):
        self.puts += 1
        array.flags.writeable = False
        return array

    def _wait(self, futures, num_returns=1, timeout=None):
        futures_wait(futures, timeout, FIRST_COMPLETED)
        ended = [future for future in futures if future.done()][:num_returns]
        return ended, [future for future in futures if future not in ended]

    def _get(self, future):
        answer = future.result()
        for message in answer["messages"]:
            message.flags.writeable = False
        return answer


class _Actor:
    def __init__(self, make, room):
        self._make, self._room, self._lock, self.dead = make, room, threading.Lock(), False
        self.made = make() if room.is_set() else None
        self._groups = {group: ThreadPoolExecutor(1) for group in ("", "orders", "weights")}

    def __getattr__(self, name):
        def method(group=""):
            return SimpleNamespace(remote=lambda *arguments: self._groups[group].submit(self._call, name, arguments))

        return SimpleNamespace(remote=method().remote, options=lambda concurrency_group: method(concurrency_group))

    def kill(self):
        self.dead = True
        if hasattr(self.made, "_process"):
            self.made._process.kill()

    def _call(self, name, arguments):
        if self.made is None:
            self._room.wait()
        if self.dead:
            raise WorkerCrashedError
        with self._lock:
            self.made = self.made or self._make()
        answer = getattr(self.made, name)(*arguments)
        if self.dead:
            raise WorkerCrashedError
        return answer


class _Task(SimpleNamespace):
    __hash__ = object.__hash__
    __eq__ = object.__eq__


def _work(pipe, function, arguments):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pipe.send(function(*arguments))
