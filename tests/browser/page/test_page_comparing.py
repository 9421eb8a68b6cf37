"""Compare and Results table as plain functions: an address in, figures, tables and files out."""

import csv
import io
import json
import re

import pytest
from dash import no_update
from dash.exceptions import PreventUpdate
from hypothesis import given
from hypothesis import strategies as st

from browser.page.compare import differences
from browser.page.compare.request import compare
from browser.page.compare.results_table import RESULTS, estimates
from browser.page.compare.view import COMPARE
from browser.page.parts import address
from browser.page.server.app import create_app, view_of
from browser.page.views import VIEWS
from browser.report.tables import as_latex, as_markdown
from browser.stats import Estimate
from page_views import compared, context_of, later, parts_of, text_of
from results_folders import alive, write_log, write_run, write_seeds

SCORES = {"qmix": {"3m": [10.0, 12.0, 14.0], "8m": [4.0]}, "vdn": {"3m": [6.0, 8.0, 7.0]}}
BOTH = pytest.mark.parametrize("view", [COMPARE, RESULTS], ids=["compare", "results"])


@pytest.fixture
def context(tmp_path):
    write_seeds(tmp_path, SCORES)
    return context_of(tmp_path)


def in_file(view, context, query, form="csv"):
    return list(csv.DictReader(io.StringIO(view.files[form](compare(context, query))["content"])))


def test_curves_of_every_map_with_their_numbers_of_runs(context):
    shown = compared(COMPARE, context, {"metric": "test_return_mean"})
    legends = re.findall(r"\w+ \(n = \d\)", text_of(shown.figures))
    assert set(legends) == {"qmix (n = 3)", "vdn (n = 3)", "qmix (n = 1)"} and len(shown.figures) == 2
    assert shown.wrong is None and shown.address == "/compare?metric=test_return_mean"
    assert shown.bar[0].children == "7 runs · 2 groups · 2 maps"
    assert compared(COMPARE, context, {"group": "env"}).bar[0].children == "7 runs · 1 group · 2 maps"


def test_published_curves_stand_beside_those_of_runs(context):
    asked = {"metric": "test_return_mean", "reference": "presets:hpn_qmix,presets:hpn_vdm"}
    shown = compared(COMPARE, context, asked)
    assert shown.address == "/compare?metric=test_return_mean&reference=presets:hpn_qmix"
    assert "'presets:hpn_vdm'. Did you mean 'presets:hpn_vdn'?" in text_of(shown.wrong)
    assert [link.children[1] for link in parts_of(shown.legend, "Link")] == ["qmix", "vdn", "hpn_qmix (presets)"]
    # there is one of 3m, and it counts as no run
    legends = re.findall(r"hpn_qmix \(presets\) \(n = \d\)", text_of(shown.figures))
    assert set(legends) == {"hpn_qmix (presets) (n = 1)"}
    assert shown.bar[0].children == "7 runs · 2 groups · 2 maps"
    hours = compared(COMPARE, context, {**asked, "axis": "seconds"})
    assert "hpn_qmix (presets) (n" not in text_of(hours.figures)


def test_one_legend_hides_and_shows_a_line_in_all_figures(context):
    shown, hidden = (
        compared(COMPARE, context, {"metric": "test_return_mean", **more}) for more in ({}, {"hide": "qmix"})
    )
    links = [parts_of(part.legend, "Link") for part in (shown, hidden)]
    assert [link.children[1] for link in links[0]] == ["qmix", "vdn"]
    assert links[0][0].href == "/compare?metric=test_return_mean&hide=qmix"
    assert links[1][0].href == "/compare?metric=test_return_mean" and links[1][0].className == "off"
    lines = [
        [trace for graph in parts_of(part.figures, "Graph") for trace in graph.figure.data if trace.line.color]
        for part in (shown, hidden)
    ]
    colours = {trace.name.partition(" ")[0]: trace.line.color for trace in lines[0]}
    assert len(set(colours.values())) == 2, "a line has its colour on every map, whichever others are there"
    assert {trace.line.color for trace in lines[1]} == {colours["vdn"]}


def test_mistakes_in_an_address_are_reported(context):
    query = {"runs": "1,99", "metric": "nope", "axis": "<b>", "smoothing": "0", "group": "nam,seed,lr", "band": "x"}
    asked = compare(context, query)
    assert asked.request.runs == ("1",) and asked.request.metric == "test_return_mean"
    assert asked.request.group == ("name",) and asked.request.smoothing == 1
    said = " ".join(asked.wrong)
    for part in ("no run '99'", "statistic 'nope'", "axis '<b>'", "smoothing is a whole", "mean 'name'", "seed"):
        assert part in said


def test_an_address_takes_the_words_of_reports_and_names_unknown_ones(context):
    asked = compare(context, {"smooth": "5", "group-by": "env"}).request
    assert (asked.smoothing, asked.group) == (5, ("env",)) and asked.address("").endswith("&group=env&smoothing=5")
    drawn = text_of(view_of(context, "/compare", "?smooth=2&runs=1"))
    assert "compare-figures" in drawn and "no setting" not in drawn
    for view in VIEWS:
        shown = text_of(view_of(context, view.path, "?runs=1&run=1&smoth=5&<b>=1"))
        known = "This does not exist" in shown or "No suites" in shown or "No replays" in shown
        assert known or "This view has no setting '<b>'" in shown
    assert "no setting 'smoth'. Did you mean 'smooth'?" in text_of(view_of(context, "/results", "?smoth=5"))


def test_addresses_of_the_matrix_lead_to_the_results_table(context, own_cache):
    answer = create_app(context.root).server.test_client().get("/matrix?metric=loss&last=1")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/results?metric=loss&last=1")


def test_exported_curves_are_the_bands_or_the_runs(context):
    rows = in_file(COMPARE, context, {"band": "mean"})
    last = next(row for row in reversed(rows) if (row["map"], row["algorithm"]) == ("3m", "qmix"))
    # of 10, 12 and 14: Student's t with two degrees of freedom, 4.3027, times 2 / sqrt(3)
    assert (float(last["steps"]), float(last["mean"]), last["n"]) == (2000.0, 12.0, "3")
    assert float(last["low"]) == pytest.approx(12 - 4.968, abs=1e-3)
    assert len(json.loads(COMPARE.files["json"](compare(context, {}))["content"])) == len(rows)
    rows = in_file(COMPARE, context, {"band": "runs"})
    assert len(rows) == 7 * 3 and [row["value"] for row in rows if row["run"] == "2"] == ["0.0", "6.0", "12.0"]


@BOTH
def test_a_view_is_drawn_again_only_when_its_runs_or_its_controls_change(view, context, tmp_path):
    """For each window by what it shows itself: of two the second does not stay old."""
    write_run(tmp_path, 90, config={"name": "iql"}, status="RUNNING", info={"unique_token": "live"}, started=alive())
    write_log(tmp_path, "live", [(0, 0, 0, "test_return_mean", 1.0)])
    query = {"runs": "90,1", "metric": "test_return_mean"}
    first = compared(view, later(context), query)
    with pytest.raises(PreventUpdate):
        view.refreshed(context, query, first.revision)
    write_log(tmp_path, "live", [(0, 0, 0, "test_return_mean", 1.0), (5, 0, 0, "test_return_mean", 2.0)])
    for _window in range(2):
        second = compared(view, context, query, first.revision)
        assert second.revision != first.revision and getattr(second, "differences", no_update) is no_update
    with pytest.raises(PreventUpdate):
        view.refreshed(context, query, second.revision)
    assert compared(view, context, {**query, "only": "newest"}, second.revision).address.endswith("only=newest")
    write_run(tmp_path, 91, config={"name": "iql"})
    third = compared(view, later(context), {**query, "runs": ""}, second.revision)
    assert view is RESULTS or third.differences is not no_update, "of other runs"


@BOTH
def test_a_window_that_has_just_opened_is_up_to_date(view, context):
    """What its controls ask for with the first tick is what its address asked for."""
    layout = view.layout(context, {"runs": "1,2", "metric": "test_return_mean", "last": "3", "smoothing": "2"})
    (revision,) = (store.data for store in parts_of(layout, "Store") if store.id == f"{view.name}-revision")
    controls = {"metric": "test_return_mean", "group": "name", "last": 3, "score": "final", "axis": "steps"}
    controls |= {"band": "iqm", "smoothing": 2, "scale": "linear"}
    query = {name: str(controls[name]) for name in view.controls if name in controls}
    with pytest.raises(PreventUpdate):
        view.refreshed(context, {"runs": "1,2", **query}, revision)


def test_differences_of_any_number_of_runs(context, tmp_path):
    runs = context.runs()
    rows = {row["name"]: row for row in differences.config_rows(runs)}
    assert set(rows) == {"env_args.map_name", "name", "seed"}
    assert all(rows["name"][f"run:{run.id}"] == run.name for run in runs)
    for run_id, version, digest in ((1, "2.1", "aaaa"), (2, "2.2", "bbbb")):
        sources = [["run.py", f"_sources/run_{digest}.py"]]
        experiment = {"dependencies": ["numpy==2.0", f"torch=={version}"], "sources": sources}
        write_run(tmp_path / "other", run_id, experiment=experiment)
    other = context_of(tmp_path / "other")
    rows = {row["name"]: (row["run:1"], row["run:2"]) for row in differences.source_rows(other, other.runs())}
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
def test_the_results_at_a_step(context, query, value):
    table = estimates(compare(context, query))
    assert table["qmix"]["3m"].value == pytest.approx(value) and table["qmix"]["3m"].n == 3
    assert table["vdn"]["8m"].n == 0


def test_cells_lead_to_their_runs(context):
    shown = text_of(compared(RESULTS, context, {"step": "1000"}).content)
    links = {tuple(sorted(link.split(","))) for link in re.findall(r"/compare\?runs=([\d,]+)&", shown)}
    assert links == {("1", "2", "3"), ("4",), ("5", "6", "7")} and "no run" in shown


def test_a_step_that_no_run_reached(context):
    shown = compared(RESULTS, context, {"step": "99999999"})
    said = text_of(shown.content)
    assert "at step 99,999,999" in said and shown.address.endswith("step=99999999")
    assert "did not reach step 99,999,999 do not count: 3 of 3 of qmix on 3m" in said


def test_results_in_papers(context):
    nothing = Estimate(float("nan"), float("nan"), float("nan"), 0)
    table = {"q_mix & <b>|x": {"3m_v%": Estimate(0.5, 0.25, 0.75, 3), "8m": nothing}}
    assert as_markdown(table, "win") == (
        "| win \\(n = 3\\) | 3m\\_v% | 8m |\n| --- | ---: | ---: |\n| q\\_mix & \\<b\\>\\|x | 0.50 [0.25, 0.75] | – |\n"
    )
    lines = as_latex(table, "win").splitlines()
    assert lines[2] == r"win (n = 3) & 3m\_v\% & 8m \\"
    assert lines[4] == r"q\_mix \& \textless{}b\textgreater{}\textbar{}x & 0.50 [0.25, 0.75] & -- \\"
    rows = in_file(RESULTS, context, {"last": "1"})
    assert [(row["algorithm"], row["map"], row["iqm"], row["n"]) for row in rows] == [
        ("qmix", "3m", "12.0", "3"),
        ("qmix", "8m", "4.0", "1"),
        ("vdn", "3m", "7.0", "3"),
    ]
    names = {write(compare(context, {}))["filename"] for write in RESULTS.files.values()}
    assert names == {f"results.{ending}" for ending in ("csv", "md", "tex", "json")}


def test_the_best_of_every_map_is_marked(context):
    shown = text_of(compared(RESULTS, context, {"last": "1"}).content)
    assert shown.count("className='best'") == 1, "8m has one algorithm, which is no comparison"
    table = estimates(compare(context, {"last": "1"}))
    lines = as_latex(table, "test_return_mean").splitlines()
    assert lines[4].startswith(r"qmix & \textbf{12.00} (10.00 to 14.00), n = 3 &") and "textbf" not in lines[5]
    assert "| qmix | **12.00** (10.00 to 14.00), n = 3 |" in as_markdown(table, "test_return_mean")
    assert "**7.00**" in as_markdown(table, "loss")


def test_written_content_is_read_back():
    query = {"runs": ["qmix/3m/1", "2"], "metric": "a&b=c <x>", "empty": "", "none": None, "smoothing": 3}
    text = address.link("/compare", query)
    assert text.startswith("/compare?runs=qmix/3m/1,2&") and "<" not in text and "empty" not in text
    read = address.parse(text.removeprefix("/compare"))
    assert read == {"runs": "qmix/3m/1,2", "metric": "a&b=c <x>", "smoothing": "3"}
    assert address.names(read, "runs") == ["qmix/3m/1", "2"]
    assert address.link("/", {}) == "/"


@pytest.mark.slow
@given(st.text() | st.none())
def test_any_query_is_read(text):
    query = address.parse(text)
    wrong = []
    assert address.choice(query, "axis", ("steps", "episodes"), "steps", wrong) in ("steps", "episodes")
    assert 1 <= address.whole_number(query, "n", 1, 9, 1, wrong) <= 9


@pytest.mark.parametrize("text", ["0", "10", "-1", "1.5", "٣", "1e3", "9" * 400, "<script>"])
def test_invalid_numbers_are_reported_and_replaced(text):
    wrong = []
    assert address.whole_number({"n": text}, "n", 1, 9, 5, wrong) == 5
    assert len(wrong) == 1 and "from 1 to 9" in wrong[0] and len(wrong[0]) < 200


def test_a_choice_that_cannot_be_names_the_nearest():
    wrong = []
    assert address.choice({"axis": "step"}, "axis", ("steps", "episodes"), "episodes", wrong) == "episodes"
    assert wrong == ["There is no axis 'step'. Did you mean 'steps'? Allowed: episodes, steps."]
