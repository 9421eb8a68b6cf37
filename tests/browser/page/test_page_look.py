"""How the page looks in a real browser: dark and light, wide and narrow, and what is in sight without scrolling."""

import re
import time

import pytest

from replay_pages import as_new, look, page_over, until, write_replay
from results_folders import write_log, write_run, write_seeds

pytestmark = pytest.mark.slow
VIEWS = {
    "/": ".ag-row",
    "/compare": "#compare-figures .scatterlayer path",
    "/results": ".heatmap-label text",
    "/run?run=1": "#run-figures .scatterlayer path",
    "/replay": "#replay[data-step]",
}
SCORES = {"qmix": {"3m": [0.9, 0.95], "8m": [0.5, 0.7]}, "vdn": {"3m": [0.8, 0.85], "8m": [0.6, 0.8]}}


@pytest.fixture(scope="module")
def served(driver, tmp_path_factory):
    root = tmp_path_factory.mktemp("look") / "results"
    write_seeds(root, SCORES, key="test_battle_won_mean")
    rows = [
        (t, t, t, key, value * t / 10) for t in (0, 10) for key, value in (("test_return_mean", 20.0), ("loss", 0.5))
    ]
    write_run(root, 99, config={"name": "iql", "lr": 0.001}, info={"unique_token": "t"})
    write_log(root, "t", [*rows, (20, 20, 20, "test_return_mean", 7.25)])
    write_replay(root, "t", "0_0.jsonl")
    with page_over(root) as base:
        yield as_new(driver), base
        driver.get("about:blank")


@pytest.fixture(scope="module", params=VIEWS)
def view(request):
    """Of the module, so that the tests of a view come one after another and load it once."""
    return request.param


def show(served, view, width=1400, scheme="light"):
    """Load a view; if it is there already, it has to follow the changed window, as a user's does."""
    driver, base = served
    look(driver, scheme)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    if driver.current_url != base + view:
        driver.get(base + view)
    until(driver, f"return document.querySelector({VIEWS.get(view.partition('?')[0], VIEWS.get(view, 'main'))!r})")
    return driver


def luminance(colour):
    """Relative luminance of a CSS colour, as WCAG 2 has it."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


COLOURS = """
const own = (selector, what) => [...document.querySelectorAll(selector)].map((e) => getComputedStyle(e)[what]);
return {ground: own("body", "backgroundColor")[0], card: own(".card", "backgroundColor")[0] || null,
  words: own("h1, h2, .label, .plain td, dd, dt, .warning p, .ag-cell, .nav, .note", "color"),
  figure: own(".js-plotly-plot .main-svg .xtick text, .js-plotly-plot .main-svg .ytick text", "fill"),
  lines: own(".scatterlayer .js-line", "stroke"), sheet: own(".js-plotly-plot .main-svg", "backgroundColor")};
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_is_legible_on_light_and_on_dark(served, view, scheme):
    found = show(served, view, scheme=scheme).execute_script(COLOURS)
    assert (luminance(found["ground"]) < 0.05) == (scheme == "dark")
    under = found["card"] or found["ground"]
    assert (luminance(under) < 0.05) == (scheme == "dark")
    assert found["words"] and min(contrast(colour, under) for colour in found["words"]) >= 4
    assert all(contrast(colour, under) >= 4.5 for colour in found["figure"])
    assert all(contrast(colour, under) >= 2 for colour in found["lines"])
    if scheme == "dark":
        assert all(colour == "rgba(0, 0, 0, 0)" for colour in found["sheet"])
    if view in ("/compare", "/results", "/run?run=1"):
        assert found["figure"], "there is a figure"


@pytest.mark.parametrize("width", [800, 500])
def test_nothing_sticks_out_of_a_narrow_window(served, view, width):
    driver = show(served, view, width)
    beyond = """
    const edge = document.documentElement.clientWidth + 1;
    const shown = [...document.querySelectorAll("header *, .controls *, .bar *, .card, .head *, #replay button")];
    const beyond = (e) => e.getClientRects().length && e.getBoundingClientRect().right > edge;
    const scrolls = document.documentElement.scrollWidth >= edge ? ["the page itself"] : [];
    return [...shown.filter(beyond).map((e) => e.outerHTML), ...scrolls];
    """
    end = time.monotonic() + 10  # figures follow the window's width a moment later
    while (found := driver.execute_script(beyond)) and time.monotonic() < end:
        time.sleep(0.05)
    assert found == []


def test_age_and_chosen_columns_are_in_sight(served):
    driver = show(served, "/?columns=config:lr,last:loss")
    ends = driver.execute_script(
        "return Object.fromEntries([...document.querySelectorAll('.ag-header-cell[col-id]')].map("
        "(e) => [e.getAttribute('col-id'), e.getBoundingClientRect().right]))"
    )
    assert all(ends[column] <= 1400 for column in ("started", "config:lr", "last:loss", "best:test_return_mean"))


def test_the_usual_columns_fit_a_small_window(served):
    """With both usual statistics the last column is in sight at 1280 pixels, once the table has followed the window."""
    driver = show(served, "/", 1280)
    ends = "[...document.querySelectorAll('.ag-header-cell[col-id]')].map((e) => e.getBoundingClientRect().right)"
    until(driver, f"return {ends}.length > 12 && Math.max(...{ends}) <= 1280 - 22")


def test_a_column_has_one_number_of_decimals(served):
    driver = show(served, "/?columns=best:test_return_mean,last:loss")
    cells = """
    return [...document.querySelectorAll('.ag-row [col-id="' + arguments[0] + '"]')]
      .map((e) => e.textContent.trim()).filter((text) => text);
    """
    assert driver.execute_script(cells, "last:test_return_mean") == ["7.250"]
    assert driver.execute_script(cells, "last:test_battle_won_mean")[0].endswith(" %")
    driver.execute_script("document.querySelectorAll('.ag-header-cell')[3].scrollIntoView()")
    assert driver.execute_script(cells, "last:loss") == ["0.5000"]
    texts = driver.execute_script("""
    const at = (values) => { const nodes = values.map((v) => ({data: {x: v}}));
      const api = {forEachNode: (f) => nodes.forEach(f), refreshCells: () => {}};
      const id = "x" + Math.random();
      nodes.forEach((n) => { n.data[id] = n.data.x; });
      const column = {getColId: () => id};
      return values.map((v) => window.dashAgGridFunctions.number({value: v, api: api, column: column})); };
    return [at([8.188, 19.3, 20, null]), at([0.5, 0.031]), at([3, 12]), at([2e7, 5]), at([0.0002, 0.00001]), at([0])];
    """)
    assert texts == [
        ["8.19", "19.30", "20.00", ""],
        ["0.5000", "0.0310"],
        ["3", "12"],
        ["2.00e+7", "5.00e+0"],
        ["2.00e-4", "1.00e-5"],
        ["0"],
    ]
