"""How fast do trainers and simulators exchange data? Round trips a second of one trainer and one simulator.

A round trip: the trainer gives two actions to each agent, the simulator answers with 64 floats, a reward and an id of
each, and both have what they got in memory of their own. Neither computes anything.

    pipe            multiprocessing's pipe, and pickle
    real package    mlagents_dots_envs 0.3.2 with our simulator (--real-package)
    polling         our trainer, and a simulator that watches a byte, as Unity builds do
    wake-up         the same, and both wake each other
    wake-up, C      the same, with a simulator in C (if there is a compiler, `cc`)
    gRPC            bytes as they are, without protobuf (if grpc can be imported)

python benchmarks/dots.py
python benchmarks/dots.py --real-package ml-agents-dots-envs~ --agents 1 100 --seconds 2
"""

import argparse
import contextlib
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from dots_free import ACTIONS, rows
from transports import busy_cores

from envs.dots.connecting import Wanted, connect

SIMULATOR = Path(__file__).with_name("dots_free.py")
SPAWN = multiprocessing.get_context("spawn")


def serve_pipe(pipe, agents: int) -> None:
    """The simulator behind a pipe."""
    answer = rows(agents)
    with contextlib.suppress(EOFError):
        while True:
            pipe.recv()
            pipe.send(answer)


@contextlib.contextmanager
def by_pipe(agents: int, _: argparse.Namespace) -> Iterator[Callable[[], None]]:
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=serve_pipe, args=(theirs, agents), daemon=True)
    process.start()
    theirs.close()
    actions = np.ones((agents, ACTIONS), dtype=np.float32)

    def trip() -> None:
        ours.send(actions)
        ours.recv()

    yield trip
    ours.close()
    process.join()


@contextlib.contextmanager
def by_files(agents: int, wakes: bool, simulator: Path = SIMULATOR) -> Iterator[Callable[[], None]]:
    session = connect(Wanted(str(simulator), ["--agents", str(agents)], protocol="0.3.2", wakes=wakes))
    session.give(reset=True)
    session.take()
    actions = np.ones((agents, ACTIONS), dtype=np.float32)

    def trip() -> None:
        session.groups["Free"].act(actions, None)
        session.give()
        session.take()
        session.groups["Free"].decisions()

    yield trip
    session.close()


def by_polling(agents: int, _: argparse.Namespace) -> contextlib.AbstractContextManager:
    return by_files(agents, wakes=False)


def by_wake_up(agents: int, _: argparse.Namespace) -> contextlib.AbstractContextManager:
    return by_files(agents, wakes=True)


@contextlib.contextmanager
def by_wake_up_of_c(agents: int, _: argparse.Namespace) -> Iterator[Callable[[], None]]:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "free")
        subprocess.run(["cc", "-O2", "-o", program, SIMULATOR.with_suffix(".c")], check=True)
        with by_files(agents, True, program) as trip:
            yield trip


@contextlib.contextmanager
def by_real_package(agents: int, options: argparse.Namespace) -> Iterator[Callable[[], None]]:
    sys.path.insert(0, options.real_package)
    from mlagents_dots_envs.unity_environment import UnityEnvironment
    from mlagents_envs.base_env import ActionTuple

    with tempfile.TemporaryDirectory() as folder:
        # it starts files that are called as Unity's builds are
        build = Path(folder, "free.x86_64")
        build.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SIMULATOR}" "$@"\n')
        build.chmod(0o700)
        env = UnityEnvironment(str(build), additional_args=["--agents", str(agents)])
        env.reset()
        actions = ActionTuple(continuous=np.ones((agents, ACTIONS), dtype=np.float32))

        def trip() -> None:
            env.set_actions("Free", actions)
            env.step()
            steps, _ = env.get_steps("Free")
            for array in (*steps.obs, steps.reward, steps.agent_id):
                array.copy()

        yield trip
        env.close()


def serve_grpc(pipe, agents: int) -> None:
    """The simulator behind gRPC."""
    from concurrent.futures import ThreadPoolExecutor

    import grpc

    answer = b"".join(array.tobytes() for array in rows(agents))
    server = grpc.server(ThreadPoolExecutor(1))
    handler = grpc.unary_unary_rpc_method_handler(lambda request, _: answer)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("Free", {"Exchange": handler})])
    pipe.send(server.add_insecure_port("127.0.0.1:0"))
    server.start()
    with contextlib.suppress(EOFError):
        pipe.recv()


@contextlib.contextmanager
def by_grpc(agents: int, _: argparse.Namespace) -> Iterator[Callable[[], None]]:
    import grpc

    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=serve_grpc, args=(theirs, agents), daemon=True)
    process.start()
    theirs.close()
    with grpc.insecure_channel(f"127.0.0.1:{ours.recv()}") as channel:
        exchange = channel.unary_unary("/Free/Exchange")
        actions = np.ones((agents, ACTIONS), dtype=np.float32)
        yield lambda: np.frombuffer(exchange(actions.tobytes()), dtype=np.float32)
    ours.close()
    process.join()


def contenders(options: argparse.Namespace) -> dict[str, Callable]:
    """Those that can run here."""
    found = {"pipe": by_pipe}
    if options.real_package:
        found["real package"] = by_real_package
    found |= {"polling": by_polling, "wake-up": by_wake_up}
    if shutil.which("cc"):
        found["wake-up, C"] = by_wake_up_of_c
    with contextlib.suppress(ImportError):
        import grpc  # noqa: F401

        found["gRPC"] = by_grpc
    return {name: one for name, one in found.items() if name in ("pipe", *(options.only or found))}


def rate(trip: Callable[[], None], seconds: float) -> float:
    """Round trips a second."""
    trips, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        trip()
        trips += 1
    return trips / passed


def measured(agents: int, options: argparse.Namespace) -> dict[str, tuple[float, float, float]]:
    """Round trips a second of every contender: the median of several turns, the least and the most."""
    turns: dict[str, list[float]] = {}
    for _ in range(options.turns):
        # one at a time: a polling simulator takes a core for itself even when it is not measured
        for name, contender in contenders(options).items():
            with contender(agents, options) as trip:
                rate(trip, options.seconds / 4)
                turns.setdefault(name, []).append(rate(trip, options.seconds))
    return {name: (statistics.median(rates), min(rates), max(rates)) for name, rates in turns.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", nargs="+", type=int, default=[1, 100])
    # they take turns: other work of the machine slows all alike
    parser.add_argument("--turns", type=int, default=16, help="of each contender")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each turn")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="contenders beside the pipe, as they are called above"
    )
    parser.add_argument("--loads", nargs="+", choices=("quiet", "busy"), default=["quiet", "busy"], help="of the cores")
    parser.add_argument("--real-package", help="folder with mlagents_dots_envs; mlagents_envs must be importable")
    options = parser.parse_args()
    print(f"round trips a second: median, least and most of {options.turns} turns; {os.cpu_count()} cores")
    for busy in (load == "busy" for load in options.loads):
        with busy_cores() if busy else contextlib.nullcontext():
            for agents in options.agents:
                print(f"{'every core busy' if busy else 'quiet'}, {agents} agents", flush=True)
                rates = measured(agents, options)
                for name, (median, least, most) in rates.items():
                    times = median / rates["pipe"][0]
                    print(f"  {name:<14}{median:>10,.0f}{least:>10,.0f}{most:>10,.0f}{times:>8.2f} x pipe", flush=True)


if __name__ == "__main__":
    main()
