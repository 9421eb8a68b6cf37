"""What a run says while its first rollout is being played."""

from runners import started
from runners.started import SlowRollout


def test_lines_come_later_and_later(monkeypatch):
    now, said = [100.0], []
    monkeypatch.setattr(started.time, "monotonic", lambda: now[0])
    slow = SlowRollout(said.append, 1024)
    for second in range(101, 200):
        now[0] = float(second)
        slow.played(16 * (second - 100))
    assert said == [
        "Playing the first rollout: 160 of up to 1,024 steps after 10 seconds (16.0 steps/s)",
        "Playing the first rollout: 320 of up to 1,024 steps after 20 seconds (16.0 steps/s)",
        "Playing the first rollout: 640 of up to 1,024 steps after 40 seconds (16.0 steps/s)",
        "Playing the first rollout: 1,280 of up to 1,024 steps after 80 seconds (16.0 steps/s)",
    ]
