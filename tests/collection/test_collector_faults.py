"""Collectors that fail, hang or meet a full queue, and how they end."""

import os
import signal
import time
from contextlib import closing

import pytest

from collecting import collectors, new_logger, seen
from collection import collector_pool as pool_module
from collection.collector_board import STARTING, WAITING
from utils.errors import MusterError

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="locks of files"), pytest.mark.slow]


class TestFaults:
    @pytest.mark.parametrize(("what", "deterministic"), [("exit", False), ("hang", True), ("raise", False)])
    def test_a_failed_collector_is_restarted(self, tmp_path, caplog, what, deterministic, transport):
        faults = {"collector-1": (2, what, str(tmp_path / "failed"))}
        options = {"timeout": 2.5, "deterministic": deterministic, "transport": transport}
        with closing(collectors(new_logger(), faults=faults, **options)) as made, caplog.at_level("WARNING"):
            sources, seeds = [], set()
            deadline = time.monotonic() + 60
            while len(sources) < 14 or (len(seeds) < 3 and time.monotonic() < deadline):
                experience = made.take()
                sources.append(experience.source)
                seeds.add((experience.source, seen(experience)[2]))
                time.sleep(0.01)
            assert made.t_env == 10 * len(sources)
            assert made._pool.restarts == 1
        assert len(seeds) == 3  # the new one has another seed
        reason = {"exit": "exit code 3", "hang": "did not answer to a rollout for 2.5 seconds (collectors.timeout)"}
        assert reason.get(what, "the track is gone") in caplog.text
        assert "It is restarted with new episodes" in caplog.text
        assert ("no longer reproducible" in caplog.text) == deterministic

    def test_one_that_fails_again_and_again_stops_the_run(self):
        stopped = pytest.raises(MusterError, match=r"was restarted 2 times \(collectors.restarts\)")
        with closing(collectors(new_logger(), faults={"collector-0": (0, "exit", "")}, restarts=2)) as made, stopped:
            for _ in range(2000):
                made.take()
                time.sleep(0.02)

    @pytest.mark.parametrize(
        ("what", "said"),
        [
            ("refuse", "Collector 0: the track is gone"),
            ("take", "Collector 0: There is not enough memory for it: the track is gone. Choose fewer"),
        ],
    )
    def test_what_is_hopeless_stops_the_run_at_once(self, what, said):
        stopped = pytest.raises(MusterError, match=said)
        with closing(collectors(new_logger(), faults={"collector-0": (0, what, "")})) as made, stopped:
            for _ in range(2000):
                made.take()
                time.sleep(0.02)

    def test_a_stopped_process_in_the_middle_of_a_message_is_killed(self):
        """SIGSTOP may come at any moment: the run continues whenever it does."""
        with closing(collectors(new_logger(), timeout=1.0)) as made:
            made.take()
            while made._pool.board.states[0] == STARTING:  # when it may be silent for longer
                made.take()
            os.kill(made._pool.collectors[0].process.pid, signal.SIGSTOP)
            deadline = time.monotonic() + 30
            while not made._pool.restarts and time.monotonic() < deadline:
                made.take()
                time.sleep(0.02)
            assert made._pool.restarts == 1

    def test_a_queue_that_brings_nothing_is_reported(self, caplog, monkeypatch):
        monkeypatch.setattr(pool_module, "REPORT_EVERY", 0.2)
        pause = {"collector-0": 1.5, "collector-1": 1.5}
        with closing(collectors(new_logger(), pause=pause)) as made, caplog.at_level("WARNING"):
            made.take()
        assert "No rollout to learn from for" in caplog.text
        assert "Collector 0 plays (last seen" in caplog.text

    def test_a_full_queue_holds_collectors_up_and_loses_nothing(self):
        with closing(collectors(new_logger(), queue=2)) as made:
            taken = [made.take()]
            pool, board = made._pool.collectors, made._pool.board
            deadline = time.monotonic() + 30
            while not (board.states == WAITING).all() or sum(len(one.rollouts) for one in pool) < 6:
                made._pool._receive_all(0.05, made.t_env)
                assert time.monotonic() < deadline, (board.states, [len(one.rollouts) for one in pool])
            # the learner learns for a while: nobody plays more than there is room for
            made._pool._receive_all(0.3, made.t_env)
            assert [(len(one.rollouts), one.granted) for one in pool] == [(3, 0), (3, 0)]
            taken += [made.take() for _ in range(20)]
        for source in (0, 1):
            counts = [int(seen(one)[1]) for one in taken if one.source == source]
            assert counts == list(range(len(counts))) and len(counts) > 6, "each rollout, in its order"

    def test_all_processes_end(self):
        made = collectors(new_logger(), processes=3)
        made.take()
        pids = [collector.process.pid for collector in made._pool.collectors]
        made.close()
        made.close()
        assert not any(_runs(pid) for pid in pids)

    def test_a_collector_that_does_not_close_is_killed(self):
        made = collectors(new_logger(), processes=1, pause={"collector-0": 60})
        made._begin()
        pid = made._pool.collectors[0].process.pid
        started = time.monotonic()
        made.close()
        assert time.monotonic() - started < 15
        assert not _runs(pid)


def _runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
