"""Compare and Matrix as plain functions: an address in, figures, tables and files out."""

import csv
import io
import json
import re

import pytest

pytest.importorskip("dash", reason="the run browser's packages are not installed")

from dash import no_update

from browser.page.compare import matrix_view as matrix_view
from browser.page.compare import view as curves_view
from browser.page.compare.comparing import compare
from browser.page.compare.matrix_text import as_latex, as_markdown
from browser.page.parts import differences
from browser.page.parts.context import Context
from browser.page.server.app import view_of
from browser.page.views import VIEWS
from browser.reading import Results
from browser.stats import Estimate
from browser_folders import alive, write_log, write_run, write_seeds

SCORES = {"qmix": {"3m": [10.0, 12.0, 14.0], "8m": [4.0]}, "vdn": {"3m": [6.0, 8.0, 7.0]}}


@pytest.fixture
def context(tmp_path):
    write_seeds(tmp_path, SCORES)
    return Context(Results(tmp_path, cache=None))


def test_curves_of_every_map_with_their_numbers_of_runs(context):
    shown, wrong, own = curves_view.changed(context, {"metric": "test_return_mean"})
    legends = re.findall(r"\w+ \(n = \d\)", json.dumps([str(card.to_plotly_json()) for card in shown.figures]))
    assert set(legends) == {"qmix (n = 3)", "vdn (n = 3)", "qmix (n = 1)"} and len(shown.figures) == 2
    assert wrong is None and own == "/compare?metric=test_return_mean" and shown.digest
    assert shown.summary == "7 runs · 2 groups · 2 maps"


def test_the_text_beside_the_figures_follows_the_grouping(context):
    shown, *_ = curves_view.changed(context, {"group": "env"})
    assert shown.summary == "7 runs · 1 group · 2 maps"
    again, *_ = curves_view.changed(context, {}, shown.digest)
    assert again.summary == "7 runs · 2 groups · 2 maps" and again.differences is no_update


def test_one_legend_hides_and_shows_a_line_in_all_figures(context):
    shown, *_ = curves_view.changed(context, {"metric": "test_return_mean"})
    entries = shown.legend.children
    assert [entry.children.children[1] for entry in entries] == ["qmix", "vdn"]
    assert entries[0].children.href == "/compare?metric=test_return_mean&hide=qmix"
    hidden, *_ = curves_view.changed(context, {"metric": "test_return_mean", "hide": "qmix"})
    assert "qmix (n" not in str([card.to_plotly_json() for card in hidden.figures])
    assert [entry.children.className for entry in hidden.legend.children] == ["off", ""]
    assert hidden.legend.children[0].children.href == "/compare?metric=test_return_mean"
    figures = [card.children[1].figure for card in (*shown.figures, *hidden.figures)]
    colours = {
        trace.name.partition(" ")[0]: trace.line.color
        for figure in figures
        for trace in figure.data
        if trace.line.color
    }
    assert len(set(colours.values())) == 2, "a line has its colour on every map, whichever others are there"
    assert {trace.line.color for trace in hidden.figures[0].children[1].figure.data if trace.line.color} == {
        colours["vdn"]
    }


def test_single_runs_are_exported_as_they_were_logged(context):
    rows = list(csv.DictReader(io.StringIO(curves_view.exported(context, {"band": "runs"}, "csv")["content"])))
    assert len(rows) == 7 * 3 and [row["value"] for row in rows if row["run"] == "2"] == ["0.0", "6.0", "12.0"]


def test_mistakes_in_an_address_are_reported(context):
    query = {"runs": "1,99", "metric": "nope", "axis": "<b>", "smoothing": "0", "group": "nam,seed,lr", "band": "x"}
    compared = compare(context, query)
    assert compared.wish.runs == ("1",) and compared.wish.metric == "test_return_mean"
    assert compared.wish.group == ("name",) and compared.wish.smoothing == 1
    text = " ".join(compared.wrong)
    for part in (
        "no run '99'",
        "statistic 'nope'",
        "axis '<b>'",
        "smoothing is a whole",
        "Did you mean 'name'",
        "seed",
    ):
        assert part in text


def test_an_address_takes_the_words_of_reports_and_names_unknown_ones(context):
    wish = compare(context, {"smooth": "5", "group-by": "env"}).wish
    assert (wish.smoothing, wish.group) == (5, ("env",)) and wish.address("").endswith("&group=env&smoothing=5")
    drawn = str(view_of(context, "/compare", "?smooth=2&runs=1").to_plotly_json())
    assert "compare-figures" in drawn and "no setting" not in drawn
    for view in VIEWS:
        shown = str(view_of(context, view.PATH, "?runs=1&run=1&smoth=5&<b>=1").to_plotly_json())
        known = "This does not exist" in shown or "No suites" in shown or "No replays" in shown
        assert known or "This view has no setting '<b>'" in shown
    assert "no setting 'smoth'. Did you mean 'smooth'?" in str(view_of(context, "/matrix", "?smoth=5").to_plotly_json())


def test_exported_curves_are_the_bands(context):
    rows = list(csv.DictReader(io.StringIO(curves_view.exported(context, {"band": "mean"}, "csv")["content"])))
    last = next(row for row in reversed(rows) if (row["map"], row["algorithm"]) == ("3m", "qmix"))
    # of 10, 12 and 14: Student's t with two degrees of freedom, 4.3027, times 2 / sqrt(3)
    assert (float(last["steps"]), float(last["mean"]), last["n"]) == (2000.0, 12.0, "3")
    assert float(last["low"]) == pytest.approx(12 - 4.968, abs=1e-3)
    assert len(json.loads(curves_view.exported(context, {}, "json")["content"])) == len(rows)


def test_a_curve_grows_only_when_its_run_does(context, tmp_path):
    write_run(tmp_path, 90, config={"name": "iql"}, status="RUNNING", info={"unique_token": "live"}, started=alive())
    write_log(tmp_path, "live", [(0, 0, 0, "test_return_mean", 1.0)])
    context.forget_scan()
    query = {"runs": "90"}
    digest = curves_view.changed(context, query)[0].digest
    assert set(curves_view.grown(context, query, digest)) == {no_update}
    write_log(tmp_path, "live", [(0, 0, 0, "test_return_mean", 1.0), (5, 0, 0, "test_return_mean", 2.0)])
    shown = curves_view.grown(context, query, digest)
    assert shown.figures is not no_update and shown.digest != digest and shown.differences is no_update


def test_config_differences_of_any_number_of_runs(context):
    runs = context.runs()
    rows = {row["name"]: row for row in differences.config_rows(runs)}
    assert set(rows) == {"env_args.map_name", "name", "seed"}
    by_id = {run.id: run for run in runs}
    assert all(rows["name"][f"run:{run_id}"] == run.name for run_id, run in by_id.items())


def test_source_and_package_differences(tmp_path):
    def experiment(version, digest):
        return {
            "dependencies": ["numpy==2.0", f"torch=={version}"],
            "sources": [["run.py", f"_sources/run_{digest}.py"]],
        }

    write_run(tmp_path, 1, experiment=experiment("2.1", "aaaa"))
    write_run(tmp_path, 2, experiment=experiment("2.2", "bbbb"))
    context = Context(Results(tmp_path, cache=None))
    rows = {row["name"]: (row["run:1"], row["run:2"]) for row in differences.source_rows(context, context.runs())}
    assert rows == {"package torch": ("2.1", "2.2"), "file run.py": ("aaaa", "bbbb")}


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ({}, 6.0),
        ({"last": "1"}, 12.0),
        ({"step": "1000"}, 6.0),
        ({"step": "500"}, 3.0),
        ({"last": "2"}, 9.0),
        ({"score": "best"}, 12.0),
    ],
)
def test_the_matrix_at_a_step(context, query, value):
    matrix = matrix_view.estimates(compare(context, query))
    assert matrix["qmix"]["3m"].value == pytest.approx(value) and matrix["qmix"]["3m"].n == 3
    assert matrix["vdn"]["8m"].n == 0


def test_cells_lead_to_their_runs(context):
    shown = str([part.to_plotly_json() for part in matrix_view.changed(context, {"step": "1000"})[0] if part])
    links = {tuple(sorted(link.split(","))) for link in re.findall(r"/compare\?runs=([\d,]+)&", shown)}
    assert links == {("1", "2", "3"), ("4",), ("5", "6", "7")} and "no run" in shown


def test_a_step_that_no_run_reached(context):
    content, _, own = matrix_view.changed(context, {"step": "99999999"})
    assert "at step 99,999,999" in str(content[1].to_plotly_json()) and own.endswith("step=99999999")
    assert "did not reach step 99,999,999 do not count: 3 of 3 of qmix on 3m" in str(content[0].to_plotly_json())


def test_matrices_in_papers():
    nothing = Estimate(float("nan"), float("nan"), float("nan"), 0)
    matrix = {"q_mix & <b>|x": {"3m_v%": Estimate(0.5, 0.25, 0.75, 3), "8m": nothing}}
    assert as_markdown(matrix, "win") == (
        "| win | 3m\\_v% | 8m |\n| --- | ---: | ---: |\n| q\\_mix & \\<b\\>\\|x | 0.50 [0.25, 0.75] | – |\n"
    )
    lines = as_latex(matrix, "win").splitlines()
    assert lines[2] == r"win & 3m\_v\% & 8m \\" and lines[4] == r"q\_mix \& <b>|x & 0.50 [0.25, 0.75] & -- \\"


def test_the_best_of_every_map_is_marked(context, tmp_path):
    last = {"last": "1"}
    content, *_ = matrix_view.changed(context, last)
    shown = str(content[1].to_plotly_json())
    assert shown.count("className='best'") == 1, "8m has one algorithm, which is no comparison"
    lines = as_latex(matrix_view.estimates(compare(context, last)), "test_return_mean").splitlines()
    assert lines[4].startswith(r"qmix & \textbf{12.00} (10.00 to 14.00) &") and "textbf" not in lines[5]
    assert "| qmix | **12.00** (10.00 to 14.00) |" in as_markdown(
        matrix_view.estimates(compare(context, last)), "test_return_mean"
    )
    assert "**7.00**" in as_markdown(matrix_view.estimates(compare(context, last)), "loss")


def test_files_of_the_matrix(context):
    rows = list(csv.DictReader(io.StringIO(matrix_view.exported(context, {"last": "1"}, "csv")["content"])))
    assert [(row["algorithm"], row["map"], row["iqm"], row["n"]) for row in rows] == [
        ("qmix", "3m", "12.0", "3"),
        ("qmix", "8m", "4.0", "1"),
        ("vdn", "3m", "7.0", "3"),
    ]
    assert {matrix_view.exported(context, {}, form)["filename"] for form in ("markdown", "latex", "json")} == {
        *("matrix.md", "matrix.tex", "matrix.json")
    }
