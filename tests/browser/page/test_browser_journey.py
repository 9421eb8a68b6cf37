"""The page in a real browser: from all runs to a comparison and its files, over runs that the project made itself."""

import csv
import json
import signal
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from replay_pages import as_new, page_over, requested
from results_folders import write_log, write_run
from small_runs import shared_runs, start_training

pytestmark = pytest.mark.slow
WAIT = 40
EVIL = "<img src=x onerror=window.hacked=1></script><script>window.hacked=1</script>"
OURS = ("http://127.0.0.1:", "data:", "blob:", "chrome")  # chrome: and chrome-untrusted: are its new tab
POINTS = "return Math.max(0, ...[...document.querySelectorAll('.js-plotly-plot')].map((p) => p.calcdata[0].length))"


class Page:
    """A browser window on a served results folder."""

    def __init__(self, driver, downloads, base):
        self.driver, self.downloads, self.base = driver, downloads, base

    def open(self, address="/"):
        self.driver.get(self.base + address)

    def until(self, what, of=lambda driver: driver):
        from selenium.common.exceptions import StaleElementReferenceException as DrawnAgain
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(self.driver, WAIT, poll_frequency=0.1, ignored_exceptions=[DrawnAgain])
        return wait.until(lambda driver: what(of(driver)))

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def find(self, selector):
        found = lambda driver: driver.find_elements("css selector", selector)  # noqa: E731
        return self.until(found)[0]

    def click(self, selector):
        def click(driver):
            element = driver.find_element("css selector", selector)
            self.script("arguments[0].scrollIntoView({block: 'center'})", element)
            element.click()
            return True

        self.find(selector)
        self.until(click)

    def says(self, selector, text):
        self.until(lambda driver: text in self.find(selector).text)

    def texts(self, selector):
        return [element.text for element in self.driver.find_elements("css selector", selector)]

    def query(self):
        return {key: values[-1] for key, values in parse_qs(urlsplit(self.driver.current_url).query).items()}

    def file(self, name):
        path = self.downloads / name
        self.until(lambda driver: path.exists() and path.stat().st_size > 0)
        return path


@pytest.fixture(scope="module")
def window(driver, tmp_path_factory):
    downloads = tmp_path_factory.mktemp("downloads")
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)})
    return as_new(driver, 1440, 1000, still=True), downloads


@pytest.fixture(scope="module")
def results(window, tmp_path_factory):
    return shared_runs(tmp_path_factory)


@pytest.fixture(scope="module")
def page(window, results):
    with page_over(results) as base:
        yield Page(*window, base)


@pytest.fixture(autouse=True)
def nothing_from_elsewhere_and_no_complaints(window):
    driver, _ = window
    requested(driver)
    yield
    assert [url for url in requested(driver) if not url.startswith(OURS)] == []
    assert [entry for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


# first the pages over other folders: each is at the address of the one before it, as is that over the shared runs
def test_a_caution_is_remedied_with_a_click(window, tmp_path):
    root = tmp_path / "results"
    for run_id, (lr, end) in enumerate(((1, 40), (1, 40), (2, 20)), start=1):
        write_run(root, run_id, config={"seed": run_id, "lr": lr}, info={"unique_token": f"t{run_id}"})
        write_log(root, f"t{run_id}", [(t, t, t, "test_return_mean", t * lr) for t in range(0, end + 1, 10)])
    with page_over(root) as base:
        page = Page(*window, base)
        page.open("/compare")
        page.says("#compare-cautions", "Runs of qmix on the same map also differ in lr")
        page.says("#compare-figures .warning", "n = 3 until 30, then 2")
        page.click("#compare-figures .remedy")
        page.until(lambda driver: page.query().get("only") == "complete")
        page.until(lambda driver: "until 30" not in page.find("#compare-figures").text)
        page.click("#compare-cautions .remedy")
        page.until(lambda driver: page.query().get("group") == "name,lr")
        page.says("#compare-bar", "3 runs · 2 groups · 1 map")
        assert page.texts("#compare-legend a") == ["qmix · 1", "qmix · 2"]
        page.click("#compare-legend a")
        page.until(lambda driver: page.query().get("hide") == "qmix · 1")
        page.says("#compare-figures .tools", "n = 1")
        page.click("#compare-only input")  # a control beside the address keeps what is hidden
        page.until(lambda driver: "newest" in page.query()["only"] and page.query().get("hide") == "qmix · 1")
        page.driver.get("about:blank")


def test_a_training_is_watched_while_it_runs(window, tmp_path):
    root = tmp_path / "results"
    root.mkdir()
    with page_over(root) as base:
        page = Page(*window, base)
        page.open()
        page.says("#runs-grid", "No runs yet")
        page.script("window.notReloaded = true")
        training = start_training(root)
        try:
            page.says("#runs-count", "1 run")
            page.says('.ag-row[row-index="0"] [col-id="progress"]', " left")
            assert page.find("#runs-count").text == "1 run", "its token's folder is not another"
            page.click('.ag-row[row-index="0"] [col-id="id"] a')
            page.says("#run-status", "running")
            page.until(lambda driver: page.script(POINTS) > 1)
            first, printed = page.script(POINTS), len(page.find("#run-console").text)
            page.until(lambda driver: page.script(POINTS) > first)
            page.until(lambda driver: len(page.find("#run-console").text) > printed)
            assert page.script("return window.notReloaded")
        finally:
            training.send_signal(signal.SIGTERM)
            training.end()
            page.driver.get("about:blank")  # or it would ask a server that is gone


def test_a_server_that_is_gone_is_said_so(window, tmp_path):
    write_run(tmp_path, 1)
    word = "return document.querySelector('#live .word').dataset.gone || ''"
    with page_over(tmp_path) as base:
        page = Page(*window, base)
        page.open()
        page.says("#runs-count", "1 run")
        assert page.script(word) == ""
    page.until(lambda driver: page.script(word).startswith("no answer since "))
    style = "return getComputedStyle(document.querySelector('#live .dot')).backgroundColor"
    assert page.script(style) == "rgb(154, 165, 177)", "grey"
    page.driver.get("about:blank")
    page.driver.get_log("browser")  # has the requests that failed


def test_content_of_runs_is_text_and_nothing_else(window, tmp_path):
    root = tmp_path / "results"
    config = {"name": EVIL, "env_args": {"map_name": EVIL}, "lr": EVIL, EVIL: 1}
    info = {"unique_token": "a", EVIL: [1.0, 2.0], f"{EVIL}_T": [0, 10]}
    write_run(root, 1, config=config, status="FAILED", info=info, cout=EVIL, fail_trace=[EVIL])
    write_run(root, 2, config={"lr": 2, "name": "vdn"}, info={"unique_token": "b"})
    write_log(root, "b", [(0, 0, 0, "test_return_mean", 1.0), (9, 1, 1, "test_return_mean", 2.0)])
    with page_over(root) as base:
        page = Page(*window, base)
        page.open("/?columns=config:lr")
        page.says("#runs-count", "2 runs")
        page.until(lambda driver: EVIL in page.texts('.ag-row [col-id="config:lr"]'))
        page.open(f"/compare?metric={quote(EVIL)}")
        page.find("#compare-configs .ag-row")
        page.open("/results")
        page.find("table.results")
        page.open("/run?run=1")
        page.says("#run-console", EVIL)
        page.find("#run-config .ag-row")
        page.open(f"/run?run={quote(EVIL)}")
        page.says("main", "There is no run")
        assert page.script("return window.hacked") is None
        page.driver.get("about:blank")


def test_from_all_runs_to_a_comparison_and_its_files(page):
    page.open()
    page.says("#runs-count", "12 runs")
    page.find(".ag-floating-filter input[aria-label^=Algorithm]").send_keys("qmix")
    page.says("#runs-count", "4 of 12 runs")
    page.until(lambda driver: "qmix" in page.query().get("filter", ""))

    for row in range(3):
        page.click(f'.ag-row[row-index="{row}"] .ag-selection-checkbox input')
    page.says("#runs-compare", "Compare ticked (3)")
    ticked = page.query()["runs"].split(",")
    assert len(ticked) == 3

    page.click('button[data-table="csv"]')
    rows = list(csv.DictReader(page.file("runs.csv").open(encoding="utf-8-sig")))
    assert len(rows) in (3, 4) and {row["Algorithm"] for row in rows} == {"qmix"}

    page.click("#runs-compare")
    page.find("#compare-figures .js-plotly-plot .scatterlayer")
    assert urlsplit(page.driver.current_url).path == "/compare" and page.query()["runs"].split(",") == ticked
    assert page.texts("#compare-legend a") == ["qmix"]
    assert sorted(page.texts("#compare-figures .tools .count")) == ["n = 1", "n = 2"]
    assert page.driver.find_elements("css selector", ".modebar-btn[data-title*=Plotly]") == []
    names = page.texts('#compare-configs .ag-pinned-left-cols-container [col-id="name"]')
    assert "seed" in names and "env" in names

    page.click("#compare-csv")
    curves = list(csv.DictReader(page.file("curves.csv").open()))
    assert {row["algorithm"] for row in curves} == {"qmix"} and {row["map"] for row in curves} == {
        "matrix/climbing",
        "two_step",
    }
    page.click('button[data-png="curves-0"]')
    name = "test_return_mean_matrix_climbing.png"
    assert page.file(name).read_bytes().startswith(b"\x89PNG")


def test_the_results_table_leads_to_its_runs_and_into_a_paper(page):
    page.open("/results")
    page.find("table.results td a")
    assert page.texts("table.results th[scope=row]") == ["iql", "qmix", "vdn"]
    page.click("#results-latex")
    assert page.file("results.tex").read_text().startswith(r"\begin{tabular}{lrr}")
    page.click("#results-json")
    cells = json.loads(page.file("results.json").read_text())
    assert len(cells) == 6 and all(cell["n"] == 2 for cell in cells)
    page.click("table.results td a")
    page.find("#compare-figures .js-plotly-plot .scatterlayer")
    assert len(page.query()["runs"].split(",")) == 2
    assert page.texts("#compare-legend a") == ["iql"] and page.texts("#compare-figures .tools .count") == ["n = 2"]


def test_an_address_brings_a_view_back(page):
    address = "/compare?runs=1,2,3&metric=loss&axis=episodes&band=median&smoothing=3"
    page.open(address)
    page.find("#compare-figures .js-plotly-plot .scatterlayer")
    assert "Loss" in page.find("#compare-figures .ytitle").text
    assert "Episodes" in page.find("#compare-figures .xtitle").text
    page.open("/?sort=t_env:asc&columns=config:lr&runs=4,5")
    page.says("#runs-count", "12 runs, 2 ticked")
    assert page.find('.ag-header-cell[col-id="config:lr"]').text == "lr"
    assert page.query() == {"sort": "t_env:asc", "columns": "config:lr", "runs": "5,4"} or page.query()["runs"] == "4,5"


def test_the_window_is_called_like_the_view(page):
    page.open("/run?run=1")
    page.until(lambda driver: driver.title == "Run · Muster")
    for view in ("Runs", "Compare", "Results table", "Hyperparameters", "Replays", "Suites"):
        page.click(f"#nav-{view.split()[0].lower()}")
        page.until(lambda driver, view=view: driver.title == f"{view} · Muster")
    page.open("/elsewhere")
    page.until(lambda driver: driver.title == "Not found · Muster")


def test_a_run_has_all_that_is_known_of_it(page):
    page.open("/run?run=1")
    page.find("#run-figures .js-plotly-plot")
    page.says("#run-console", "Finished Training")
    view = page.find("main").text
    assert "1 · qmix · two_step · seed 1" in view and "completed" in view
    page.click("table.replays a")
    page.find("#replay[data-step]")
    assert page.query()["run"] == "1"
    page.open("/run?run=99")
    page.says("main", "There is no run '99'")
