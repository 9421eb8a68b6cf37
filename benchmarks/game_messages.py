"""Reading StarCraft II's observations: the messages as Muster loads them, against the package's own code.

python benchmarks/game_messages.py      needs s2clientprotocol (requirements-dev.txt)

The package's generated code works with today's protobuf only when its parser in pure Python is forced upon the process.
"""

import os
import subprocess
import sys
from pathlib import Path

UNITS = {"3m": 6, "8m": 16, "27m_vs_30m": 57}
PROGRAM = """
import sys, time
sys.path.insert(0, {src!r})
if {ours}:
    from envs.starcraft import protocol
    protocol.install()
from s2clientprotocol import sc2api_pb2
for count in {counts}:
    response = sc2api_pb2.Response()
    for i in range(count):
        unit = response.observation.observation.raw_data.units.add(tag=2**32 + i, unit_type=48, owner=1 + i % 2)
        unit.health, unit.health_max, unit.pos.x, unit.pos.y, unit.facing, unit.radius = 45, 45, 9.5, 16.25, 1.5, 0.375
        unit.weapon_cooldown, unit.is_active, unit.display_type, unit.alliance = 3.5, True, 1, 1
    written, times = response.SerializeToString(), []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range({repeats}):
            read = sc2api_pb2.Response.FromString(written).observation.observation.raw_data.units
            places = [(unit.pos.x, unit.pos.y, unit.health) for unit in read]
        times.append((time.perf_counter() - start) / {repeats} * 1000)
    print(sorted(times)[3])
"""


def milliseconds(ours: bool) -> list[float]:
    """Time to read one observation and all positions and healths in it, for each number of units."""
    src = str(Path(__file__).resolve().parents[1] / "src")
    program = PROGRAM.format(src=src, ours=ours, counts=list(UNITS.values()), repeats=300 if ours else 20)
    env = dict(os.environ) if ours else {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return [float(line) for line in done.stdout.split()]


def main() -> None:
    print("reading one observation and all places in it, ms (median of 7)\n")
    print(f"{'map':<12}{'units':>6}{'own code':>12}{'Muster':>10}{'ratio':>8}")
    for (name, units), theirs, ours in zip(UNITS.items(), milliseconds(False), milliseconds(True), strict=True):
        print(f"{name:<12}{units:>6}{theirs:>12.3f}{ours:>10.4f}{theirs / ours:>8.0f}")


if __name__ == "__main__":
    main()
