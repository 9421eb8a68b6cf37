"""The table of a suite, by hand."""

from suites.state.runs import SuiteRun
from suites.state.state import Attempt
from suites.state.table import last_line, suite_table


def run(algorithm, environment, map_name, seed, t_max=1000):
    return SuiteRun(
        f"{algorithm}-{environment}-{map_name}-{seed}", algorithm, environment, map_name, seed, {}, t_max, []
    )


def test_cells_and_their_sum():
    runs = [run(algorithm, "skirmish", "3m", seed) for algorithm in ("a", "b") for seed in (1, 2, 3)]
    newest = {
        runs[0].id: Attempt(runs[0].id, 1, "done", steps=990, seconds=9.9),  # its last value was logged before the end
        runs[1].id: Attempt(runs[1].id, 1, "running", steps=500, seconds=10.0),
        runs[3].id: Attempt(runs[3].id, 2, "failed", steps=300, error="x\nfirst", ended=5.0),
        runs[4].id: Attempt(runs[4].id, 1, "failed", error="x\nlast", ended=6.0),
        runs[5].id: Attempt(runs[5].id, 1, "stopped", steps=1040, seconds=20.8),  # a rollout beyond t_max
    }
    table = suite_table(runs, newest)
    a, b = table.cells
    assert (a.algorithm, a.map, a.done, a.running, a.failed, a.waiting, a.runs) == ("a", "3m", 1, 1, 0, 1, 3)
    assert (a.steps, a.all_steps, a.left) == (1500, 3000, 1500)
    # 100 and 50 steps a second
    assert a.speed == 75 and a.seconds_left() == 20
    assert (b.done, b.running, b.failed, b.waiting, b.left, b.steps) == (0, 0, 2, 1, 0, 1300)
    assert last_line(b.error) == "last" and b.seconds_left() == 0
    assert (table.total.runs, table.total.steps, table.total.all_steps) == (6, 2800, 6000)
    # one run at a time
    assert table.seconds_left() == 20


def test_time_left_without_a_speed():
    assert suite_table([run("a", "e", "", 1)], {}).seconds_left() is None
    runs = [run("a", "e", "m", 1), run("b", "e", "m", 1)]
    # b is taken to be as fast as the others
    table = suite_table(runs, {runs[0].id: Attempt(runs[0].id, 1, "running", steps=500, seconds=5.0)})
    assert table.seconds_left() == 5 + 10


def test_maps_have_their_environment_where_there_are_several():
    runs = [run("a", "sc2", "3m", 1), run("a", "skirmish", "3m", 1), run("a", "two_step", "", 1)]
    assert [cell.map for cell in suite_table(runs, {}).cells] == ["sc2/3m", "skirmish/3m", "two_step"]
    assert [cell.map for cell in suite_table(runs[:1], {}).cells] == ["3m"]
    assert last_line("") == ""
