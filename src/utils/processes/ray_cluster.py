"""Ray: a cluster that is there already, or one of this machine alone, which ends with the process that has begun it."""

import contextlib
import importlib.util
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from utils.errors import ConfigError, MusterError
from utils.plain_values import quoted

INSTALL = "pip install -r requirements-cluster.txt"
# bytes of memory for objects of a cluster of our own: Ray would take 30 % of the machine's
OBJECTS = 256 * 2**20
# of the private folder of such a cluster. Ray makes everything in its own folder for all users, so ours is around it
PREFIX, TOKEN, SESSIONS = "muster-ray-", "token", "r"
# characters: Ray adds 62 for its sockets, whose paths the system limits to 107
LONGEST_FOLDER = 40
# seconds in which a cluster's head answers, or is not there
PATIENCE = 10.0


def require_ray(what: str) -> None:
    """Raises: ConfigError: Ray is not installed; `what` is the key or option that needs it."""
    if importlib.util.find_spec("ray") is None:
        raise ConfigError(f"{what} needs Ray, which is not installed: {INSTALL}")


class RayCluster:
    """This process's connection to a cluster, which it is the driver of.

    A cluster of our own listens on all addresses of the machine, as Ray does, so it gets a token that only this user
    can read. Workers have the priority of their parent (`RAY_worker_niceness`): with Ray's default, a learner would
    starve them. Nothing that workers print is repeated here.

    Args:
        address: of a cluster, or "auto"; None: the one in RAY_ADDRESS, else one of our own.
        cpus: that a cluster of our own offers, whatever the machine has; None: those that this process may use.

    Attributes:
        ray: the module.
        own: whether the cluster is of our own.

    Raises:
        ConfigError: Ray is not installed, or there is no cluster at the address.
    """

    def __init__(self, address: str | None, cpus: int | None = None):
        require_ray(f"--address={address}" if address else "Ray")
        address = address or os.environ.get("RAY_ADDRESS") or None
        if address and "://" in address:
            raise ConfigError(
                f"The address {quoted(address)}: expected HOST:PORT of a cluster's head, or auto. Ray's client "
                "(ray://) cannot be used; start the command on a machine of the cluster."
            )
        self.own, self._lock = address in (None, "local"), -1
        self._folder: Path | None = None
        if address not in (None, "local", "auto"):
            _require_listener(address)
        self._before: dict[str, str | None] = {}
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            self.ray: ModuleType = self._connect(None if self.own else address, cpus)
        except BaseException:
            self._remove()
            raise

    def resources(self) -> list[dict[str, float]]:
        """What each machine offers, used or not: CPU, GPU, memory in bytes, and more."""
        return [node["Resources"] for node in self.ray.nodes() if node["Alive"]]

    def has_room(self, cpus: float, gpus: float, memory: float = 0) -> bool:
        """Whether a machine offers that much, as long as nothing else is on it."""
        wanted = {"CPU": cpus, "GPU": gpus, "memory": memory}
        return any(all(node.get(key, 0) >= amount for key, amount in wanted.items()) for node in self.resources())

    def close(self) -> None:
        """Leave the cluster: Ray ends our tasks and actors; a cluster of our own ends, too. May be called twice."""
        self.ray.shutdown()
        self._remove()

    def _connect(self, address: str | None, cpus: int | None) -> ModuleType:
        options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False, "logging_level": "ERROR"}
        if self.own:
            options |= self._begin(cpus)
        with _own_signals():
            import ray

            # what a Ray that is used already is connected to is not ours to end
            if ray.is_initialized():
                raise MusterError("This process is connected to a cluster of Ray already.")
            _shorten_notes()
            try:
                if self.own:
                    _forget_tokens()
                ray.init(address=address or "local", **options)
            except (ConnectionError, RuntimeError, ValueError, TimeoutError, ray.exceptions.RayError) as error:
                ray.shutdown()
                where = f"at {address}" if address else "on this machine"
                reason = " ".join(str(error).split())[:500]
                raise ConfigError(f"Ray cannot be used {where}: {reason}") from None
        return ray

    def _begin(self, cpus: int | None) -> dict[str, Any]:
        """The folder, the token and the options of a cluster of our own."""
        import fcntl

        _sweep()
        place = tempfile.gettempdir()
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place if len(place) <= LONGEST_FOLDER else "/tmp"))
        self._folder, token = folder, folder / TOKEN
        # held as long as this process lives
        self._lock = os.open(token, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        os.write(self._lock, secrets.token_hex(32).encode())
        ours = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_worker_niceness": "0"}
        self._before = {key: os.environ.get(key) for key in ours}
        os.environ.update(ours)
        return {
            "num_cpus": cpus or len(os.sched_getaffinity(0)),
            "include_dashboard": False,
            "object_store_memory": OBJECTS,
            "_temp_dir": str(folder / SESSIONS),
            "_node_ip_address": "127.0.0.1",
        }

    def _remove(self) -> None:
        for key, value in self._before.items():
            os.environ.pop(key, None)
            if value is not None:
                os.environ[key] = value
        self._before = {}
        if self._folder is not None:
            os.close(self._lock)
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def _shorten_notes() -> None:
    """Have what Ray says of its cluster take a line: the loss of a machine comes with twenty of its log."""
    with contextlib.suppress(ImportError):
        from ray._private import worker

        if hasattr(worker, "print_to_stdstream"):
            worker.print_to_stdstream = note


def note(data: Mapping[str, Any], ignore_prefix: bool = False) -> None:
    """Print the first line of one of Ray's notes, in place of Ray's function with these arguments."""
    first = "".join(map(str, data["lines"][:1])).strip().partition("\n")[0]
    print(f"Ray: {quoted(' '.join(first.split()), 300)}", file=sys.stderr, flush=True)


def _forget_tokens() -> None:
    """Have Ray read the variables once more: it keeps what the first connection of a process has found there."""
    with contextlib.suppress(ImportError, AttributeError):  # of another version
        from ray._raylet import AuthenticationTokenLoader, Config

        Config.initialize("")
        AuthenticationTokenLoader.instance().reset_cache()


def _require_listener(address: str) -> None:
    """Raises: ConfigError: nothing listens there, for which Ray would wait for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 2**16:
        raise ConfigError(f"The address {quoted(address)}: expected HOST:PORT of a cluster's head, or auto.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except OSError as error:
        reason = error.strerror or "it does not answer"
        raise ConfigError(f"There is no cluster of Ray at {quoted(address)}: {reason}.") from None


def _sweep() -> None:
    """Remove the folders of clusters whose processes were killed."""
    import fcntl

    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid != os.getuid():
                continue
            lock = os.open(folder / TOKEN, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keep our handler of SIGTERM, in place of which Ray puts one that exits."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)
