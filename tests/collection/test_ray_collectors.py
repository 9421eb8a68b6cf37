"""Collectors as actors: on a stand-in of Ray, and on Ray itself where it is installed."""

import importlib.util
import os
import signal
import threading
import time
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest

from collecting import collectors, learn, new_logger, seen
from collection import ray_transport
from collection.ray_relay import Relay
from utils.errors import ConfigError, MusterError
from utils.processes.ray_cluster import RayCluster, note

pytestmark = pytest.mark.slow

HAS_RAY = importlib.util.find_spec("ray") is not None


@pytest.fixture(scope="module")
def real():
    """Ray itself, of this machine alone; collectors leave it as it is."""
    if not HAS_RAY:
        pytest.skip("pip install -r requirements-cluster.txt")
    made = RayCluster(None, 4)
    close, made.close = made.close, lambda: None
    yield made
    close()


def on_ray(logger=None, **options):
    return collectors(logger or new_logger(), transport="ray", **options)


def test_collectors_in_turn_play_what_those_of_one_machine_do(cluster):
    def rollouts(transport):
        logger, found = new_logger(), []
        with closing(collectors(logger, deterministic=True, processes=2, transport=transport)) as made:
            for _ in range(6):
                experience = made.take()
                found.append((experience.source, experience.lag, experience.t_env, *seen(experience)))
                learn(made)
        return found, logger.stats["count"]

    played = rollouts("ray")
    assert played == rollouts("processes")
    # each version goes to the cluster once, for both of them
    assert cluster.puts == 6
    assert cluster.closed


@pytest.mark.parametrize("queue", [0, 1])
def test_lag_is_bounded_and_rollouts_are_ours_to_change(cluster, queue):
    with closing(on_ray(processes=2, queue=queue, max_lag=4, pause={"collector-1": 0.05})) as made:
        lags, sources, deadline = [], set(), time.monotonic() + 60
        while len(lags) < 30 or (len(sources) < 2 and time.monotonic() < deadline):
            experience = made.take()
            lags.append(experience.lag)
            sources.add(experience.source)
            experience.batch["obs"].numpy().flat[0] = 1.0
            learn(made)
    assert max(lags) <= 4 and min(lags) >= 0 and sources == {0, 1}
    assert made.figures()["weight_lag_max"] == max(lags)


def test_weights_are_fetched_within_a_rollout(cluster):
    with closing(on_ray(processes=1, queue=0, pull_steps=1, pause={"collector-0": 0.5})) as made:
        made.take()
        time.sleep(0.2)
        learn(made)
        made._weights.publish()
        made._pool.publish()
        late = made.take()
        assert (late.lag, seen(late)[0]) == (1, 1)


def test_a_collector_that_waited_for_a_machine_begins_with_the_weights_of_then(cluster):
    """Not with those of the order to play, which it got before: a learner that waits for it sends no newer ones."""
    with closing(on_ray(processes=1, queue=0)) as made:
        cluster.room.clear()
        made._weights.publish()
        made._begin()
        for _ in range(5):
            learn(made)
            made._weights.publish()
            made._pool.publish()
        cluster.room.set()
        experience = made.take()
    assert (experience.lag, seen(experience)[0]) == (0, 5)


def test_an_actor_that_is_gone_with_its_machine_is_replaced(cluster, caplog):
    with closing(on_ray()) as made, caplog.at_level("WARNING"):
        made.take()
        cluster.actors[0].kill()
        until(made, lambda taken: len(cluster.actors) == 3 and taken[-1].source == 0)
        assert made._pool.restarts == 1
    assert "its actor of Ray's, or its machine, is gone (WorkerCrashedError)" in caplog.text


def test_the_others_play_on_while_there_is_no_machine_for_one(cluster):
    """As many rollouts as would be too old, and one more; afterwards the bound of their age holds again."""
    with closing(on_ray(processes=2, max_lag=4)) as made:
        made.take()
        cluster.room.clear()
        try:
            cluster.actors[0].kill()
            until(made, lambda taken: made._pool.restarts == 1)
            sources = []
            for _ in range(10):
                learn(made)
                sources.append(made.take().source)
            assert sources[-6:] == [1] * 6
        finally:
            cluster.room.set()
        lags = {}
        while 0 not in lags:
            learn(made)
            experience = made.take()
            lags[experience.source] = experience.lag
        assert lags[0] <= 4


def test_a_machine_without_muster_stops_the_run(cluster, monkeypatch):
    monkeypatch.setattr(ray_transport, "SOURCE", "/none/src")
    made = on_ray()
    with closing(made), pytest.raises(MusterError, match=r"Collector [01]: .* has no /none/src: every machine needs"):
        made.take()


def test_a_learner_warns_of_workers_that_get_little(cluster, monkeypatch, caplog):
    monkeypatch.setattr(os, "nice", lambda _: 15)
    with closing(on_ray()) as made, caplog.at_level("WARNING"):
        made.take()
    assert caplog.text.count("run with the niceness 15") == 1
    assert "RAY_worker_niceness=0" in caplog.text


def test_messages_keep_their_order_and_wait_for_their_weights():
    """Ray may deliver large arguments after small ones that were sent later."""
    relay, sent = Relay.__new__(Relay), []
    relay.__dict__ |= {"_fault": "", "_lock": threading.Lock(), "_waiting": {}, "_sent": 0, "_version": 0}
    relay._connection = SimpleNamespace(send_bytes=lambda message: sent.append(bytes(message)))
    relay._memory = SimpleNamespace(descriptor=os.memfd_create("weights"))
    relay._block = memoryview(bytearray(4))
    relay.tell(1, np.frombuffer(b"b", np.uint8), 0)
    assert sent == []
    relay.tell(0, np.frombuffer(b"a", np.uint8), 0)
    assert sent == [b"a", b"b"]
    relay.tell(2, np.frombuffer(b"c", np.uint8), 2)
    relay.weights(1, np.full(4, 1, np.uint8))
    assert sent == [b"a", b"b"]
    relay.weights(2, np.full(4, 2, np.uint8))
    assert sent == [b"a", b"b", b"c"]
    relay.weights(1, np.full(4, 1, np.uint8))
    assert bytes(relay._block) == b"\x02\x02\x02\x02"


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"Ray, which is not installed: pip install -r requirements-cluster.txt"):
        RayCluster(None)


def test_what_ray_says_of_a_lost_machine_takes_a_line(capsys):
    note({"pid": "raylet", "is_err": False, "lines": ["Raylet is terminated.\n    [state-dump] 20 lines"]})
    assert capsys.readouterr().err == "Ray: Raylet is terminated.\n"


def test_on_ray_itself(real, monkeypatch, caplog):
    """Turns as on one machine, and a killed actor is replaced."""
    monkeypatch.setattr(ray_transport, "RayCluster", lambda address, cpus: real)
    taken = {}
    for transport in ("ray", "processes"):
        with closing(collectors(new_logger(), deterministic=True, processes=2, transport=transport)) as made:
            found = taken[transport] = []
            for _ in range(4):
                experience = made.take()
                found.append((experience.source, experience.lag, experience.t_env, *seen(experience)))
                learn(made)
    assert taken["ray"] == taken["processes"]
    with closing(on_ray()) as made, caplog.at_level("WARNING"):
        made.take()
        actor = made._pool.collectors[0].connection._actor
        pid = real.ray.get(actor.__ray_call__.remote(lambda relay: os.getpid()), timeout=60)
        os.kill(pid, signal.SIGKILL)
        until(made, lambda taken: made._pool.restarts == 1 and taken[-1].source == 0, seconds=120)
    assert "or its machine, is gone" in caplog.text


def until(made, holds, seconds=60):
    """What is taken until `holds` of it."""
    taken, deadline = [], time.monotonic() + seconds
    while not taken or not holds(taken):
        assert time.monotonic() < deadline
        taken.append(made.take())
        time.sleep(0.01)
    return taken
