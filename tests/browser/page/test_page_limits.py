"""Folders and requests of any size: a page stays small, reports omitted parts, and waits for no request."""

import contextlib
import json
import socket
import time
import urllib.request

import numpy as np
import pytest

from browser.figures import run_curves
from browser.page.compare.results_table import RESULTS
from browser.page.compare.view import COMPARE
from browser.page.parts.components import dropdown, table
from browser.page.parts.context import Context
from browser.page.parts.limits import LARGEST_REQUEST, TABLE, fitting, left_out
from browser.page.run import curves
from browser.page.run import view as run
from browser.page.runs import view as runs
from browser.page.server import serving
from browser.page.server.app import view_of
from browser.page.views import VIEWS
from browser.reading import Results
from browser.reading.curves import Curve
from replay_pages import page_over
from results_folders import write_log, write_run

pytestmark = pytest.mark.slow

KEYS = 300_000


def size(part):
    return len(json.dumps(part, default=lambda value: getattr(value, "to_plotly_json", lambda: str(value))()))


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A run with 300,000 config keys beside two usual ones, and one whose every text is long."""
    root = tmp_path_factory.mktemp("results")
    long = "long " * 20_000
    config = {f"key_{i:06}": f"value {i}" for i in range(KEYS)}
    write_run(root, 1, config=config, info={"unique_token": "a"})
    usual = {"name": long, "env_args": {"map_name": long}, "seed": long, long: long, "lr": long}
    texts = {"result": long, "fail_trace": [long], "artifacts": ["x" * 200] * 3000}
    write_run(root, 2, config=usual, status="FAILED", info={"unique_token": "b"}, cout=long, **texts)
    write_run(root, 3, config={f"other_{i}": "x" * 1000 for i in range(3000)}, info={"unique_token": "c"})
    for token, key in (("a", "test_return_mean"), ("b", "k" * 200), ("c", "test_return_mean")):
        rows = [(t, t, t, key, t) for t in range(50)]
        write_log(root, token, [*rows, *((9, 9, 9, f"{key}_time_{i}", 1.0) for i in range(2000))])
    return root


def test_a_folder_of_hundreds_of_thousands_of_keys_opens_in_a_second(root):
    started = time.process_time()
    context = Context(Results(root, cache=None))
    shown = [view_of(context, view.path, "?run=1") for view in VIEWS]
    assert time.process_time() - started < 4, "usually about one, on a machine with nothing else to do"
    assert all(size(view) < 1_000_000 for view in shown), [size(view) for view in shown]
    assert "config.json has 298," in str(shown[-1].to_plotly_json())


@pytest.fixture(scope="module")
def context(root):
    """That has read the runs once."""
    return Context(Results(root, cache=None))


@pytest.mark.parametrize("run_id", ["1", "2", "3"])
def test_every_page_and_answer_is_small(context, run_id):
    many = ",".join(f"config:key_{i:06}" for i in range(3000))
    for view in VIEWS:
        for query in ("", f"?run={run_id}&runs=1,2,3", f"?columns={many}&group={many}&metrics={many}"):
            assert size(view_of(context, view.path, query)) < 1_000_000, (view.path, query[:30])
    names = many.split(",")
    answers = {
        "table": runs.refreshed(context, names, [], None),
        "run": run.refreshed(context, run_id, None),
        "curves": curves.refreshed(context, run_id, names, "steps"),
        "compared": COMPARE.refreshed(context, {"group": many, "band": "runs"}),
        "results": RESULTS.refreshed(context, {"group": "lr,name"}),
    }
    assert {name: size(answer) for name, answer in answers.items() if size(answer) > 1_000_000} == {}


def test_omitted_parts_are_reported():
    rows = [{"key": f"key {i}", "value": "x" * 10_000} for i in range(5000)]
    shown = str(table("grid", [], rows).to_plotly_json())
    assert "more rows are left out; the first 7" in shown and len(shown) < 1.3 * TABLE
    choice = dropdown("choice", [f"choice {i:0200}" for i in range(5000)], None)
    assert "more choices are left out" in choice.options[-1]["label"] and choice.options[-1]["disabled"]
    assert len(dropdown("choice", ["a", "b"], "a").options) == 2
    assert left_out("rows", [1, 2], [1, 2]) == "" and fitting(["a" * 10] * 9, 30) == ["a" * 10] * 2


def test_long_curves_keep_their_peaks():
    values = np.sin(np.arange(1_000_000.0))
    values[[123_456, 654_321]] = 99.0, -99.0
    values[700_000:710_000] = np.nan
    curve = Curve("loss", np.arange(1_000_000), values)
    figure = run_curves({"run": curve}, "loss")
    x, y = (np.asarray(figure.data[0][axis]) for axis in "xy")
    assert len(x) <= 4000 and (x[0], x[-1]) == (0, 999_999) and (np.diff(x) > 0).all()
    assert y[x == 123_456] == 99 and y[x == 654_321] == -99 and np.isnan(y).any()
    assert sum(len(line.x) for line in run_curves({str(i): curve for i in range(50)}, "loss").data) <= 100_000
    short = Curve("loss", np.arange(4), np.arange(4.0))
    assert short.thinned(2) is short


@pytest.fixture(scope="module")
def base(root):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving, "PATIENCE", 1)
        with page_over(root) as base:
            yield base


def sent(base, head, body=b""):
    """An open connection over which the beginning of a request was sent."""
    port = int(base.rpartition(":")[2])
    lines = [f"Host: 127.0.0.1:{port}", f"Origin: {base}", "Content-Type: application/json", *head, "", ""]
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall("\r\n".join(["POST /_dash-update-component HTTP/1.1", *lines]).encode() + body)
    return connection


CHUNKED = "Transfer-Encoding: chunked"


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (["Content-Length: 10000000000"], b""),
        ([f"Content-Length: {LARGEST_REQUEST + 1}"], b""),
        ([CHUNKED], (b"100000\r\n" + b"x" * 2**20 + b"\r\n") * 4 + b"0\r\n\r\n"),
    ],
)
def test_a_long_body_is_refused(base, head, body):
    try:
        with sent(base, head, body) as connection:
            answer = connection.recv(12)
    except ConnectionError:
        answer = None
    # one that is closed while a body still arrives may lose the answer on the way
    assert answer == b"HTTP/1.1 413" or (body and answer is None)


@pytest.mark.parametrize(
    ("head", "body"),
    [(["Content-Length: 1000"], b""), (["Content-Length: 1000"], b"{"), ([CHUNKED], b"ffff\r\n{")],
)
def test_a_connection_on_which_nothing_moves_is_closed(base, head, body):
    with sent(base, head, body) as connection:
        assert connection.recv(100) == b""


def test_requests_that_arrive_slowly_keep_no_other_waiting(base):
    with contextlib.ExitStack() as slow:
        for _ in range(2 * serving.THREADS):
            slow.enter_context(sent(base, ["Content-Length: 1000"], b"{"))
        started = time.monotonic()
        with urllib.request.urlopen(f"{base}/replay/folder", timeout=10) as answer:
            assert answer.status == 200
        assert time.monotonic() - started < 1
