"""Folders of plain Sacred experiments, without a map, an environment, a token, or `name` in the config."""

import re

import pytest

from browser.comparison import Comparison
from browser.page.compare.request import compare
from browser.page.compare.results_table import estimates
from browser.page.compare.view import COMPARE
from browser.page.runs import view as runs_view
from browser.page.runs.columns import definitions
from browser.page.runs.rows import Rows
from browser.reading import Results
from browser.usual import usual_metrics
from page_views import compared, context_of
from plain_sacred import make_plain_runs
from report import main
from results_folders import alive, write_log, write_run

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(scope="module")
def unnamed(tmp_path_factory):
    return make_plain_runs(tmp_path_factory.mktemp("unnamed"))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    return make_plain_runs(tmp_path_factory.mktemp("mixed"), named=True)


def test_compare_opens_on_the_common_statistic_by_experiment(unnamed):
    asked = compare(context_of(unnamed), {})
    assert (asked.request.metric, asked.request.group, asked.wrong) == ("accuracy", ("name",), [])
    assert [(group.label, len(group.runs)) for group in asked.comparison.groups] == [
        ("net_narrow", 2),
        ("net_wide", 3),
    ]
    shown = compared(COMPARE, context_of(unnamed), {})
    assert [html.children for card in shown.figures for html in card.children[0].children[:1]] == ["accuracy"]


def test_the_configs_name_comes_before_the_experiments(mixed):
    comparison = compare(context_of(mixed), {}).comparison
    assert [group.label for group in comparison.groups] == ["net_narrow", "net_wide", "small"]
    table = estimates(compare(context_of(mixed), {"last": "1"}))
    assert {label: round(cells["no map"].value, 3) for label, cells in table.items()} == {
        "net_narrow": 0.3,
        "net_wide": 0.7,
        "small": 0.3,
    }


def test_the_table_has_results_and_no_empty_columns(unnamed):
    context = context_of(unnamed)
    _, usual = runs_view.known_columns(context)
    titles = [definition["headerName"] for definition in definitions([], usual, False)]
    assert titles == [
        *("Run", "Status", "Age", "Algorithm", "Seed", "t_env", "accuracy, last", "accuracy, best", "Result"),
        "Steps/s",
    ]
    rows = Rows(context).rows(usual.columns(), False)
    by_seed = {(row["name"], row["seed"]): (row["result"], row.get("last:accuracy"), row["status"]) for row in rows}
    assert by_seed["net_wide", 1] == (0.75, 0.75, "COMPLETED")
    assert by_seed["net_wide", 2] == (None, None, "FAILED")


@pytest.mark.parametrize("folder", ["unnamed", "mixed"])
def test_a_report_needs_no_keys(folder, request, tmp_path):
    root = request.getfixturevalue(folder)
    out = tmp_path / "report.html"
    assert main([str(root), "--out", str(out)]) == 0
    page = out.read_text()
    assert "net_wide (n = 2)" in page and "accuracy (accuracy)" not in page
    headings, *rows = (
        re.findall(r"<t[hd]>(.*?)</t[hd]>", row)
        for row in page[page.index(">Runs<") :].partition("</table>")[0].split("</tr>")[:-1]
    )
    results = sorted(dict(zip(headings, row, strict=True))["result"] for row in rows)
    assert results == sorted(["", "0.25", "0.35", "0.65", "0.75", *(["0.2", "0.4"] if folder == "mixed" else [])])


def test_a_requested_key_must_exist(unnamed, capsys):
    assert main([str(unnamed), "--group-by", "name,width"]) == 2
    assert "Did you mean 'net.width'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("counts", "chosen"),
    [
        ({"a": 1, "accuracy": 8, "loss": 8}, ["accuracy"]),
        ({"accuracy": 8, "val_accuracy": 8}, ["val_accuracy"]),
        # a statistic that only some environments have does not come before the one that all have
        ({"test_battle_won_mean": 1, "test_return_mean": 2, "loss": 3}, ["test_return_mean", "test_battle_won_mean"]),
        ({"test_battle_won_mean": 5, "test_return_mean": 5}, ["test_battle_won_mean", "test_return_mean"]),
        ({"episode": 3, "return_mean": 3}, ["return_mean"]),
        ({"accuracy": 8, "test_return_mean": 1}, ["accuracy"]),
        ({}, []),
    ],
)
def test_the_default_statistics(counts, chosen):
    assert usual_metrics(counts) == chosen


def test_a_run_that_has_just_begun_hides_no_statistic(tmp_path):
    write_run(tmp_path, 1, info={"unique_token": "a"})
    write_log(tmp_path, "a", [(0, 0, 0, "test_return_mean", 1.0)])
    write_run(tmp_path, 2, info={"unique_token": "b"}, status="RUNNING", started=alive())
    results = Results(tmp_path, cache=None)
    comparison = Comparison(results, results.runs())
    assert comparison.metric_keys() == ["test_return_mean"]
