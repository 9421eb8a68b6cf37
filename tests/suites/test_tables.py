"""Tables beside published figures: curves in small files, what they come to, Markdown, and the page."""

import argparse
import json
import math
import os
import re
from dataclasses import replace

import pytest
import yaml

from browser.reading.curve_files import CurveFile, RunCurve, read_curves, write_curves
from checkpoints.errors import CheckpointError
from checkpoints.model_manifests import add_manifest, require_intact
from results_folders import put, write_log, write_run
from standins import ROOT
from suite_children import folder_in, runs_of, write_manifest_of
from suites.command.main import dispatch
from suites.command.models import export_models
from suites.command.tables import export
from suites.state.state import Attempt
from suites.tables.markdown import OTHERS, rendered
from suites.tables.page import filled
from suites.tables.published import NAME, read_published
from suites.tables.results import Setting, settings_of
from utils.errors import ConfigError, MusterError

pytest.importorskip("scipy")

PUBLISHED = """
sources:
  paper: {title: "Someone 2021", measure: maximum, seeds: 5, caution: "Unchecked."}
algorithms: {VDN: [our_vdn, vdn], QMIX: qmix}
tables:
  small:
    title: Small games
    source: paper
    steps: {VDN: 4e6, QMIX: 2e6}
    tasks:
      three: {maps: [3m], figures: {VDN: [0.91, 0.05], QMIX: "1.00"}}
      eight: {maps: [8m], figures: {VDN: below 1}, scale: {times: 2, plus: -75}}
    notes:
      - {tasks: [three], algorithms: [QMIX], text: "of ours there are none"}
      - {tasks: [eight], text: "other rules"}
"""


def curve(algorithm, where, seed, values, **changes):
    steps = [1000 * (k + 1) + seed for k in range(len(values))]
    words = ["--config=x", "with", "lr=0.1"]
    facts = {"t_max": 3000, "words": words, "seconds": 60.0, "commit": "c0ffee12", **changes}
    return RunCurve(f"{algorithm}-{where}-s{seed}-0badcafe", algorithm, "game", where, seed, **facts, steps=steps,
                    values=values)  # fmt: skip


def curve_file(*runs):
    return CurveFile("mine", "of mine", "test_return_mean", list(runs))


def folder_of(tmp_path, text=PUBLISHED):
    (tmp_path / NAME).write_text(text)
    return tmp_path


def test_the_maximum_is_of_the_test_with_the_highest_mean_over_seeds():
    # a single run's best test, 9, counts for nothing: the means are 5, 4, 3
    runs = [curve("vdn", "3m", 1, [1.0, 2.0, 3.0]), curve("vdn", "3m", 2, [9.0, 6.0, 3.0, 100.0])]
    (setting,) = settings_of([curve_file(*runs)])
    best = setting.value("maximum")
    # two runs: t = 12.706, s / sqrt(2) = 4
    assert best.mean == 5 and best.at == 1002 and best.half == pytest.approx(12.7062 * 4, rel=1e-4)
    assert best.scaled(-2, 1).text() == "-9.00 ± 101.65"
    # of tests that all runs have
    assert setting.value("final").mean == setting.value("average").mean == 4
    (alone,) = settings_of([curve_file(runs[0])])
    assert alone.value("maximum").text() == "3.00" and math.isnan(alone.value("maximum").half)


def test_the_absolute_metric_has_a_column_where_runs_have_one(tmp_path):
    runs = [curve("vdn", "3m", seed, [9.0], absolute=[value]) for seed, value in ((1, 2.0), (2, 4.0))]
    (setting,) = settings_of([curve_file(*runs)])
    assert setting.value("absolute").mean == 3 and setting.value("maximum").mean == 9
    # a setting whose runs do not all have one has an empty cell
    some = [curve("vdn", "8m", 1, [9.0], absolute=[2.0]), curve("vdn", "8m", 2, [9.0])]
    file = curve_file(*runs, *some)
    found = rendered(read_published(folder_of(tmp_path)), settings_of([file]))["small"]
    rows = [[cell.strip() for cell in line.split("|")][3:9] for line in found.splitlines() if line.startswith("| ")]
    assert rows[0] == ["steps", "seeds", "maximum", "at", "final", "absolute"]
    assert [row[5] for row in rows[2:]] == ["3.00 ± 12.71", ""]
    path = tmp_path / "mine.json"
    write_curves(path, file)
    assert read_curves(path).runs == file.runs and path.read_text().count("absolute") == 3


def test_runs_by_other_rules_are_named_apart(tmp_path):
    words = ["--config=x", "with", "env_args.rules=1"]
    file = curve_file(curve("vdn", "unlisted", 1, [9.0]), curve("vdn", "unlisted", 1, [1.0], words=words))
    found = rendered(read_published(folder_of(tmp_path)), settings_of([file]))[OTHERS]
    rows = [[cell.strip() for cell in line.split("|")][1:] for line in found.splitlines() if line.startswith("| game")]
    assert [(row[0], row[6]) for row in rows] == [("game", "9.00"), ("game, rules 1", "1.00")]


def test_the_final_value_is_of_the_last_five_tests():
    (setting,) = settings_of([curve_file(curve("vdn", "3m", 1, [50.0, 1.0, 2.0, 3.0, 4.0, 5.0]))])
    assert setting.value("final").mean == 3 and setting.value("average").mean == 65 / 6


def test_only_runs_that_differ_in_nothing_but_their_seeds_are_together():
    runs = [
        curve("vdn", "3m", 2, [1.0]), curve("vdn", "3m", 1, [1.0]), curve("vdn", "8m", 1, [1.0]),
        curve("qmix", "3m", 1, [1.0]), curve("vdn", "3m", 3, [1.0], t_max=9), curve("vdn", "3m", 4, [1.0], words=[]),
        curve("vdn", "3m", 5, []),
    ]  # fmt: skip
    found = settings_of([curve_file(*runs)])
    assert [[run.seed for run in setting.runs] for setting in found] == [[1, 2], [1], [1], [3], [4]]


def test_ours_stand_beside_the_published_in_the_papers_order_and_on_its_scale(tmp_path):
    runs = [curve("our_vdn", where, seed, [40.0, 30.0]) for where in ("3m", "8m") for seed in (1, 2)]
    runs += [curve("vdn", "3m", 1, [0.5]), curve("mine", "3m", 1, [0.25]), curve("mine", "25m", 1, [0.125])]
    published = read_published(folder_of(tmp_path))
    found = rendered(published, settings_of([curve_file(*runs)]))
    assert list(found) == ["small", OTHERS]
    lines = found["small"].splitlines()
    assert lines[2] == "Published: Someone 2021; the test with the highest mean over seeds; 5 seeds. Unchecked."
    assert [line for line in lines if line.startswith("| ")] == [
        "| task | algorithm | steps | seeds | maximum | at | final | on their scale | published | their steps | note |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        "| three | VDN (`our_vdn`) | 2k | 2 | 40.00 ± 0.00 | 1k | 35.00 ± 0.00 | 40.00 ± 0.00 | 0.91 ± 0.05 | 4M | |",
        "| three | VDN (`vdn`) | 1k | 1 | 0.50 | 1k | 0.50 | 0.50 | 0.91 ± 0.05 | 4M | |",
        "| three | `mine` | 1k | 1 | 0.25 | 1k | 0.25 | 0.25 | | | |",
        "| eight | VDN (`our_vdn`) | 2k | 2 | 40.00 ± 0.00 | 1k | 35.00 ± 0.00 | 5.00 ± 0.00 | below 1 | 4M | 1 |",
    ]
    assert "Published, without runs here: three: QMIX 1.00." in lines
    # and a note on it is not there
    assert "1. other rules" in lines and "The paper's scale: eight: ours × 2 - 75." in lines
    assert "of ours there are none" not in found["small"]
    assert "- `our_vdn`, `3m`, 60 s each, c0ffee12:  " in lines
    assert "  `our_vdn-3m-` `s1-0badcafe`, `s2-0badcafe`  " in lines and "  `--config=x with lr=0.1`" in lines
    assert "| game | 25m | `mine` | `test_return_mean` | 1k | 1 | 0.12 | 1k | 0.12 |" in found[OTHERS]
    # a table without a run of ours is left out
    assert list(rendered(published, [Setting("test_return_mean", (runs[-1],))])) == [OTHERS]


@pytest.mark.parametrize(
    "before, after, message",
    [
        ("measure: maximum", "measure: maximal", "Did you mean 'maximum'?"),
        ("source: paper", "source: papers", "tables.small.source is papers. Did you mean 'paper'?"),
        ("QMIX: qmix", "QMIX: vdn", "vdn is beside VDN and beside QMIX"),
        ("steps: {VDN", "steps: {VDM", "there is no algorithm 'VDM'. Did you mean 'VDN'?"),
        ("[0.91, 0.05]", "[0.91]", "figures.VDN is [0.91]; it must be a mean, or"),
        ("times: 2", "times: two", "scale.times is two; it must be a number"),
        ("tasks: [three]", "tasks: [tree]", "there is no tree. Did you mean 'three'?"),
        ("maps: [3m]", "map: [3m]", "unknown key 'map'. Did you mean 'maps'?"),
    ],
)
def test_mistakes_in_published_figures_are_named(tmp_path, before, after, message):
    assert before in PUBLISHED
    with pytest.raises(ConfigError) as error:
        read_published(folder_of(tmp_path, PUBLISHED.replace(before, after)))
    assert message in str(error.value) and NAME in str(error.value)


def test_a_file_of_curves_reads_back(tmp_path):
    path, file = tmp_path / "mine.json", curve_file(curve("vdn", "3m", 1, [1 / 3, -2e-9]))
    write_curves(path, file)
    (run,) = read_curves(path).runs
    assert run.values == [0.333333, -2e-9] and run.steps == file.runs[0].steps and run.words == file.runs[0].words
    # a run is a line, so that commits show what is new
    assert len(path.read_text().splitlines()) == 3
    for before, after in (('"seed": 1', '"seed": "1"'), ("[1001, 2001]", "[1001]"), ('"version": 1', '"version": 2')):
        path.write_text(file.text().replace(before, after))
        with pytest.raises(ConfigError, match=r"mine\.json"):
            read_curves(path)


def test_a_page_keeps_its_words_and_has_the_tables_in_their_places(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A\n<!-- table: b -->\nold\n<!-- end of b -->\nwords\n<!-- table: c -->\n<!-- end of c -->\n")
    text = filled(page, {"b": "new\n"}, ["b", "c"])
    first, second = (
        "<!-- table: b -->\n\nnew\n\n<!-- end of b -->",
        "<!-- table: c -->\n\nNo runs yet.\n\n<!-- end of c -->",
    )
    assert text == f"# A\n{first}\nwords\n{second}\n"
    page.write_text(text)
    assert filled(page, {"b": "new\n"}, ["b", "c"]) == text
    with pytest.raises(ConfigError, match="has no place for the table d"):
        filled(page, {"d": ""}, ["b", "c", "d"])
    with pytest.raises(ConfigError, match="there is no table 'b'"):
        filled(page, {}, ["c"])
    page.write_text("<!-- table: b -->\n")
    with pytest.raises(ConfigError, match="the table b has no end"):
        filled(page, {}, ["b"])


def test_runs_that_are_done_are_exported_once_and_what_is_no_longer_in_the_suite_goes(tmp_path, capsys):
    folder, runs = folder_in(tmp_path / "results"), runs_of(3)
    write_manifest_of(folder, runs)
    options = argparse.Namespace(folder=tmp_path / "kept", metric="test_return_mean")
    with pytest.raises(ConfigError, match="No run of mine is done yet"):
        export(folder, options)
    for k, state in enumerate(("done", "done", "running")):
        rows = [(t, 0, t / 10, "test_return_mean", value) for t, value in ((10, k), (20, math.nan), (30, 2.5))]
        write_log(folder.results, f"token{k}", rows)
        folder.write(Attempt(runs[k].id, 1, state=state, token=f"token{k}", seconds=7.0))
    export(folder, options)
    path = tmp_path / "kept" / "mine.json"
    kept = read_curves(path)
    assert [(run.id, run.steps, run.values) for run in kept.runs] == [
        ("run-0", [10, 30], [0, 2.5]), ("run-1", [10, 30], [1, 2.5])
    ]  # fmt: skip
    # its seed is none of the words by which runs are compared
    assert kept.runs[0].seconds == 7 and kept.runs[0].words == ["steps=20", "pause=0.002", "fail=0"]
    # what the results do not have any more stays
    (folder.results / "runs" / "token0" / "metrics.csv").unlink()
    export(folder, options)
    assert len(read_curves(path).runs) == 2
    write_manifest_of(folder, runs[1:])
    export(folder, options)
    assert [run.id for run in read_curves(path).runs] == ["run-1"] and "1 that are no longer" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="is of test_return_mean"):
        write_log(folder.results, "token1", [(10, 0, 1.0, "other", 1.0)])
        export(folder, argparse.Namespace(folder=options.folder, metric="other"))


def test_the_best_model_of_each_setting_is_kept_with_its_config_and_without_optimisers(tmp_path, capsys, request):
    umask = os.umask(0o077)  # results are the user's own; what is given away is not
    request.addfinalizer(lambda: os.umask(umask))
    folder = folder_in(tmp_path / "results")
    runs = [replace(run, map=f"[{name}]") for run, name in zip(runs_of(4), ("3m", "3m", "8m", "8m"), strict=True)]
    write_manifest_of(folder, runs)
    kept = tmp_path / "kept"
    with pytest.raises(ConfigError, match="No run of mine that is done has a tested model"):
        export_models(folder, kept)
    for k, (state, returned) in enumerate((("done", 1.0), ("done", 2.0), ("done", 3.0), ("running", 4.0))):
        best = folder.results / "models" / f"token{k}" / "best"
        for name in ("agent", "critic", "agent_opt", "critic_opt", "opt"):
            put(best / f"{name}.th", f"{name} {k}")
        put(best / "best.json", json.dumps({"step": 10 * k, "test_return_mean": returned}))
        add_manifest(best)
        config = {"name": "vdn", "env_args": {"map_name": runs[k].map}, "local_results_path": "/home/me/results"}
        write_run(folder.results, k + 1, config=config, info={"unique_token": f"token{k}"})
        folder.write(Attempt(runs[k].id, 1, state=state, token=f"token{k}"))
    for _ in range(2):  # a later export replaces them
        export_models(folder, kept)
        assert sorted(path.relative_to(kept).as_posix() for path in kept.rglob("*") if path.is_file()) == [
            f"{name}/{file}"
            for name in ("3m", "8m")
            for file in ("best/agent.th", "best/best.json", "best/critic.th", "best/manifest.json", "config.json")
        ]
    assert (kept / "3m" / "best" / "agent.th").read_text() == "agent 1"
    assert "8m: test return 3, after 20 steps" in capsys.readouterr().out
    config = json.loads((kept / "8m" / "config.json").read_text())
    assert config["env_args"] == {"map_name": "[8m]"} and "local_results_path" not in config
    require_intact(kept / "3m" / "best")
    assert {path.stat().st_mode & 0o777 for path in (kept, *kept.rglob("*"))} == {0o755, 0o644}
    (folder.results / "models" / "token1" / "best" / "agent.th").write_text("changed")
    with pytest.raises(CheckpointError, match=r"token1/best/agent\.th has"):
        export_models(folder, kept)


def test_the_commands_write_and_check_a_page(tmp_path, capsys):
    folder = folder_of(tmp_path)
    write_curves(folder / "mine.json", curve_file(curve("vdn", "3m", 1, [0.5])))
    dispatch(["tables", f"--folder={folder}"])
    assert "| three | VDN (`vdn`) |" in capsys.readouterr().out
    page = tmp_path / "page.md"
    page.write_text("<!-- table: small -->\n<!-- end of small -->\n")
    words = ["tables", f"--folder={folder}", f"--page={page}"]
    with pytest.raises(MusterError, match="has other tables"):
        dispatch([*words, "--check"])
    dispatch(words)
    assert "| three | VDN (`vdn`) |" in page.read_text() and "written" in capsys.readouterr().out
    dispatch([*words, "--check"])


def test_the_documentation_shows_a_file_of_published_figures(tmp_path):
    (block,) = re.findall(r"```text\n(sources:.*?)```", (ROOT / "docs" / "suites.md").read_text(), re.S)
    (table,) = read_published(folder_of(tmp_path, block)).tables
    assert table.tasks[0].figures == {"MAPPO": "49.42 ± 1.22", "QMIX": "below 1"}


def test_the_tables_of_the_documentation_are_those_of_its_files():
    dispatch(["tables", f"--page={ROOT / 'docs' / 'tables.md'}", "--check"])
    names = yaml.safe_load((ROOT / "docs" / "tables" / NAME).read_text())["tables"]
    assert all(f"<!-- table: {name} -->" in (ROOT / "docs" / "tables.md").read_text() for name in names)
