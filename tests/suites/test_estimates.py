"""How long a suite will take: speeds of earlier runs and of short trainings, and what follows from them."""

import json
import platform

import pytest

from suite_children import folder_in, write_manifest_of
from suites.command.main import dispatch
from suites.estimates import short_runs
from suites.estimates.forecast import ALIKE, FACTORS, family, forecast
from suites.estimates.short_runs import Watch, affordable, measured, short_run, to_measure
from suites.estimates.speeds import (
    EARLIER,
    MEASURED,
    Speed,
    earlier_speeds,
    keep_speeds,
    known_speeds,
    measured_speeds,
    words_of_speed,
)
from suites.plan.resources import RESOURCES, Machine
from suites.state.runs import SuiteRun
from suites.state.state import Attempt

HOST = platform.node()


def run_of(algorithm="vdn", place="rware:tiny", seed=1, t_max=1000, **settings):
    words = ["--config=" + algorithm, "--env-config=gymma", "with", f"seed={seed}", f"t_max={t_max}", "label='x'"]
    words += [f"{key}={value}" for key, value in {"key": place, **settings}.items()]
    return SuiteRun(f"{algorithm}-{place}-s{seed}".replace(":", "-"), algorithm, "gymma", place, seed, {}, t_max, words)


def speed(run, step, how=EARLIER, **figures):
    facts = {"test": 0.0, "start": 0.0, "host": HOST, **figures}
    return Speed(words_of_speed(run), run.algorithm, run.environment, run.map, step, how=how, **facts)


def write_timer(folder, token, rows):
    """Write the log of a run's timer: (steps, updates, seconds of training, seconds of tests, tests, longest test)."""
    path = folder.results / "runs" / token
    path.mkdir(parents=True)
    keys = "updates", "time/train", "time/test", "calls/test", "longest/test"
    lines = ["t_env,episode,seconds,key,value"]
    for steps, *values in rows:
        lines += [f"{steps},0,{steps / 10},{key},{value}" for key, value in zip(keys, values, strict=True)]
    (path / "diagnostics.csv").write_text("\n".join(lines) + "\n")


def suite_with(folder, runs, attempts):
    write_manifest_of(folder, runs)
    for run, facts in zip(runs, attempts, strict=True):
        if facts is not None:
            folder.write(Attempt(run.id, 1, **{"host": HOST, "state": "done", **facts}))


def test_earlier_runs_tell_training_and_tests_apart(tmp_path):
    folder = folder_in(tmp_path)
    runs = [run_of(), run_of(seed=2), run_of(seed=3), run_of("qmix"), run_of("iql")]
    times = {"claimed": 1000.0, "ended": 1100.0, "steps": 900, "seconds": 95.0}
    attempts = [
        {**times, "token": "a"},
        {**times, "host": "another"},
        {**times, "seconds": 3.0},
        {**times, "state": "running", "ended": 0.0, "token": "none"},
        None,
    ]
    suite_with(folder, runs, attempts)
    write_timer(folder, "a", [(500, 0, 1.0, 9.0, 1, 9.0), (1000, 5, 50.0, 30.0, 4, 9.0)])
    timed, untimed = earlier_speeds(tmp_path)
    # 50 s of 1000 steps, 30 s of four tests, and 20 s besides
    assert (timed.algorithm, timed.step, timed.test, timed.start) == ("vdn", 0.05, 7.5, 20.0)
    assert timed.words == ["--config=vdn", "--env-config=gymma", "key=rware:tiny", "with"]
    # a run without a timer's log has its steps and seconds
    assert (untimed.algorithm, untimed.step, untimed.test) == ("qmix", 95 / 900, 0.0)


def test_the_newest_three_runs_of_a_setting_count(tmp_path):
    folder = folder_in(tmp_path)
    runs = [run_of(seed=seed) for seed in range(5)]
    suite_with(folder, runs, [{"claimed": float(9 - k), "steps": k + 1, "seconds": 60.0} for k in range(5)])
    assert [one.step for one in earlier_speeds(tmp_path)] == [60 / 3, 60 / 2, 60 / 1]


def test_a_forecast_fills_the_places_in_order_and_says_how_sure_it_is():
    runs = [run_of(seed=seed) for seed in range(5)]
    newest = {runs[0].id: Attempt(runs[0].id, 1, state="done"), runs[1].id: Attempt(runs[1].id, 1, "lost", steps=500)}
    known = [speed(runs[0], 0.1, test=5.0, start=10.0)]
    found = forecast(runs, newest, known, 2, lambda run: 4)
    # 1000 steps and four tests are 120 s, half of them 60, and each run 10 more
    assert [one.seconds for one in found.known] == [70, 130, 130, 130] and found.unknown == 0
    # 70 + 130 on the one, 130 + 130 on the other
    assert found.seconds() == 260 and found.seconds(1) == 260 * FACTORS[EARLIER]
    assert found.text("measure") == (
        "It takes about 4 min on this machine, 2 runs at a time (4 min to 5 min): 4 runs as fast as earlier runs."
    )
    assert forecast(runs[:1], newest, known, 2, lambda run: 4).text("measure") == "Nothing is left to do."


def test_what_is_known_best_counts_and_the_most_alike_stands_in():
    tiny, small, forage, other = (run_of(place=name) for name in ("rware:tiny", "rware:small", "lbf:eight", "rware:t"))
    wide = run_of(place="rware:tiny", lr=1)
    known = [
        speed(tiny, 4.0), speed(tiny, 1.0), speed(tiny, 100.0, MEASURED),
        speed(small, 9.0, MEASURED), speed(forage, 0.5, MEASURED),
    ]  # fmt: skip

    def of(run):
        (found,) = forecast([run], {}, known, 1, lambda run: 0).durations.values()
        return None if found is None else (pytest.approx(found.step), found.how)

    assert of(tiny) == (2.0, EARLIER) and of(small) == (9.0, MEASURED)
    # another setting of the same map; another map of the family; any map of the environment
    assert of(wide) == ((4 * 1 * 100) ** (1 / 3), ALIKE)
    assert of(other) == ((4 * 1 * 100 * 9) ** (1 / 4), ALIKE)
    assert of(run_of(place="pz-x")) == ((4 * 1 * 100 * 9 * 0.5) ** (1 / 5), ALIKE)
    # with overrides or without
    assert of(run_of("vdn+low", place="rware:small"))[1] == ALIKE
    assert of(run_of("qmix")) is None
    text = forecast([tiny, run_of("qmix")], {}, known, 1, lambda run: 0).text("MEASURE")
    assert "Of 1 run nothing is known" in text and text.endswith("To measure: MEASURE")
    assert "is not known" in forecast([run_of("qmix")], {}, known, 1, lambda run: 0).text("MEASURE")


def test_families_are_what_names_begin_with():
    assert [family(name) for name in ("rware:rware-tiny", "pz-mpe-simple", "3m_vs", "8m")] == [
        "rware",
        "pz",
        "3m",
        "8m",
    ]


def test_one_of_each_algorithm_and_family_is_measured_first():
    places = "rware:a", "rware:b", "lbf:a"
    runs = [run_of(algorithm, place, seed) for algorithm in ("vdn", "qmix") for place in places for seed in (1, 2)]
    found = to_measure(runs, [speed(runs[0], 1.0)], again=False)
    names = [(run.algorithm, run.map, run.seed) for run in found]
    assert names == [
        ("vdn", "rware:b", 1), ("vdn", "lbf:a", 1), ("qmix", "rware:a", 1), ("qmix", "lbf:a", 1), ("qmix", "rware:b", 1)
    ]  # fmt: skip
    before = [speed(runs[0], 1.0, MEASURED)]
    assert len(to_measure(runs, before, again=False)) == 5 and len(to_measure(runs, before, again=True)) == 6


def test_time_is_divided_among_settings():
    # start and end of each take 15 seconds
    assert affordable(10, 2, 600) == (10, 60.0)
    assert affordable(40, 2, 600) == (40, 15.0)
    assert affordable(100, 2, 600) == (60, 5.0)
    assert affordable(100, 1, 1) == (1, 5.0)


def test_a_short_run_is_the_run_with_other_ends(tmp_path):
    run = run_of(test_nepisode=100, log_interval=5, use_wandb=True)
    config = {"runner": "parallel", "batch_size_run": 8, "test_nepisode": 100}
    made = short_run(run, 3, 10.0, config, tmp_path)
    assert made.short.id == "short-3" and made.whole is run
    kept, added = made.short.words[: len(run.words) - 3], made.short.words[len(run.words) - 3 :]
    replaced = "test_nepisode=100", "log_interval=5", "use_wandb=True"
    assert kept == [word for word in run.words if word not in replaced]
    assert added[:3] == ["max_hours=0.027777777777777776", "log_interval=500", "test_nepisode=10"]
    assert "use_wandb=False" in added and "save_model=False" in added
    assert not any(word.startswith("league_folder=") for word in added) and "record_data=''" in added
    of_league = short_run(run, 3, 10.0, {**config, "league_folder": "results/leagues/x"}, tmp_path).short.words
    assert of_league[-1] == f"league_folder='{tmp_path}/league-3'"
    # thirteen rollouts instead of two
    assert made.tests == 6.5
    assert short_run(run, 0, 1.0, {**config, "runner": "episode"}, tmp_path).tests == 10


def test_speed_is_that_after_the_first_update(tmp_path):
    folder, one = (
        folder_in(tmp_path),
        short_run(run_of(), 0, 10.0, {"runner": "episode", "test_nepisode": 20}, tmp_path),
    )
    rows = [(100, 0, 30.0, 8.0, 1, 8.0), (200, 1, 40.0, 8.0, 1, 8.0), (700, 9, 50.0, 10.0, 3, 8.0)]
    write_timer(folder, "a", rows)
    attempt = Attempt("short-0", 1, "done", "a", claimed=100.0, ended=175.0)
    found = measured(folder.results, one, attempt, HOST)
    # 500 steps in 10 s; of the tests the first compiled, and those of the whole run are twice as long
    assert (found.step, found.test, found.start) == (0.02, 2.0, 15.0)
    assert found.how == MEASURED and found.words == words_of_speed(one.whole)
    write_timer(folder, "b", rows[:2])
    write_timer(folder, "c", rows[:1])
    assert all(measured(folder.results, one, Attempt("short-0", 1, "done", t), HOST) is None for t in ("b", "c", "d"))


def test_a_run_that_was_measured_long_enough_is_ended_once(tmp_path):
    folder = folder_in(tmp_path)
    write_timer(folder, "a", [(200, 1, 40.0, 8.0, 1, 8.0), (700, 9, 50.0, 10.0, 3, 8.0)])
    newest, live = {"short-0": Attempt("short-0", 1, "running", "a")}, folder.results / "runs" / "a" / "live.yaml"
    Watch(folder.results, 10.1).look(newest)
    assert not live.exists()
    watch = Watch(folder.results, 10.0)
    watch.look(newest)
    assert live.read_text() == "max_hours: 1.0e-9\n"
    live.unlink()
    watch.look(newest)
    assert not live.exists()


def test_measured_speeds_are_kept_by_machine_and_setting(tmp_path):
    first, second = speed(run_of(), 1.0, MEASURED), speed(run_of("qmix"), 2.0, MEASURED, host="another")
    keep_speeds(tmp_path, [first, second])
    keep_speeds(tmp_path, [speed(run_of(), 3.0, MEASURED)])
    assert [one.step for one in measured_speeds(tmp_path)] == [3.0] == [one.step for one in known_speeds(tmp_path)]
    path = tmp_path / "suites" / "speeds.json"
    content = json.loads(path.read_text())
    assert [one["host"] for one in content] == [HOST, "another"]
    path.write_text(json.dumps([{**content[0], "step": 0.0}, {"words": 3}, 5, content[0]]))
    assert [one.step for one in measured_speeds(tmp_path)] == [3.0]
    path.write_text("{")
    assert measured_speeds(tmp_path) == []


def test_cards_bound_the_runs_at_a_time():
    def at_once(**resources):
        all_of_them = {**{key: option.default for key, option in RESOURCES.items()}, **resources}
        return Machine(all_of_them, cores=[0, 1, 2, 3], gpus=["0", "1"]).at_once()

    assert [at_once(), at_once(jobs=9), at_once(gpus=0.5), at_once(gpus=1.0), at_once(gpus=0.5, jobs=3)] == [
        4,
        9,
        4,
        2,
        3,
    ]


@pytest.mark.slow
def test_real_short_trainings_and_what_is_said_of_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(short_runs, "LEAST", 0.3)
    settings = "settings: {test_nepisode: 20, test_interval: 1000}\nresources: {jobs: 1, cores: 0, gpus: 0}\n"
    (tmp_path / "long.yaml").write_text(f"algorithms: vdn\nenvironments: two_step\nseeds: 2\nt_max: 100000\n{settings}")
    dispatch(["run", "long.yaml", "--dry-run"])
    assert "To measure it: python src/suite.py estimate long.yaml\n" in capsys.readouterr().out
    dispatch(["estimate", "long.yaml", "--minutes=0.1"])
    out = capsys.readouterr().out
    assert "Measuring 1 setting, " in out and "vdn, two_step: " in out and "measured" in out
    (found,) = measured_speeds(tmp_path / "results")
    assert 1e-5 < found.step < 0.1 and 0 < found.test < 10 and found.seconds > 0.3
    assert "2 runs as fast as short trainings." in out
    # nothing is left of them, and what is known is not measured twice
    assert [path.name for path in (tmp_path / "results" / "suites").iterdir()] == ["speeds.json"]
    dispatch(["estimate", "long.yaml"])
    assert "Measuring" not in capsys.readouterr().out
    dispatch(["run", "long.yaml", "--dry-run"])
    assert capsys.readouterr().out.splitlines()[-1].startswith("It takes about")
