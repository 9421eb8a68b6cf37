"""Who is answered, and what: hosts, tokens, other pages' requests, paths."""

import itertools
import json
import os
import socket

import pytest

from browser.page.parts.context import Context
from browser.page.server.app import create_app, view_of
from browser.page.server.serving import listen, server_of
from browser.page.views import VIEWS
from browser.reading import Results
from replay_pages import running
from results_folders import write_run, write_seeds

pytestmark = pytest.mark.usefixtures("own_cache")
TOKEN = "a-token-of-24-characters"
UPDATE = "/_dash-update-component"


@pytest.fixture
def root(tmp_path):
    write_seeds(tmp_path / "results", {"qmix": {"3m": [1.0, 2.0]}})
    return tmp_path / "results"


def client(root, **options):
    return create_app(root, **options).server.test_client()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8050", "[::1]:8050", "LOCALHOST:1", "127.0.0.2"])
def test_this_machine_is_answered(root, host):
    assert client(root).get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8050", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.1.2", "8050"],
)
def test_a_name_that_only_points_here_is_not(root, host):
    answer = client(root).get("/", headers={"Host": host})
    assert answer.status_code == 403 and b"localhost only" in answer.data


@pytest.mark.parametrize("path", ["/", "/_dash-layout", "/assets/muster.js", "/replay/lines", UPDATE])
def test_nothing_is_served_without_the_token(root, path):
    page = client(root, token=TOKEN)
    assert page.get(path).status_code == 403
    assert page.get(path, query_string={"token": TOKEN[:-1]}).status_code == 403
    page.set_cookie("muster_token", "ä" + TOKEN)
    assert page.get(path).status_code == 403


def test_the_token_is_given_once_and_kept_as_a_cookie(root):
    page = client(root, token=TOKEN)
    answer = page.get("/compare", query_string={"token": TOKEN, "runs": "1"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/compare?runs=1")
    assert "HttpOnly" in answer.headers["Set-Cookie"] and "SameSite" in answer.headers["Set-Cookie"]
    assert page.get("/").status_code == 200
    elsewhere = page.get("/%5Cevil.example/", query_string={"token": TOKEN}).headers["Location"]
    assert elsewhere == "/evil.example/"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_requests_from_other_pages_change_nothing(root, headers):
    answer = client(root, write=True).post(UPDATE, json={}, headers=headers)
    assert answer.status_code == 403 and b"another page" in answer.data


def test_every_answer_is_protected(root):
    page = client(root)
    for answer in (page.get("/"), page.get("/nonsense"), page.get("/", headers={"Host": "evil.example"})):
        policy = answer.headers["Content-Security-Policy"]
        script = next(part for part in policy.split(";") if "script-src" in part)
        assert "default-src 'none'" in policy and "unsafe" not in script and "http" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
    text = page.get("/").text
    assert "https://" not in text.replace("https:\\u002f\\u002fdash-version.plotly.com", "") and "cdn" not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "evil",
    [
        "../../secret",
        "/etc/passwd",
        "..",
        "%2e%2e/secret",
        "1/../../secret",
        "a\0b",
        "sacred/link",
        "<script>x</script>",
    ],
)
def test_no_parameter_leads_out_of_the_folder(root, tmp_path, evil):
    secret = tmp_path / "secret"
    write_run(secret, 1, config={"name": "SECRET"}, cout="SECRET")
    (secret / "run.json").write_text('{"status": "SECRET", "experiment": {"name": "SECRET"}}')
    os.symlink(secret, root / "sacred" / "link")
    context = Context(Results(root))
    keys = "run runs suite file metric metrics group columns filter sort axis step search".split()
    for view in VIEWS:
        for key in keys:
            shown = str(view_of(context, view.path, f"?{key}={evil}").to_plotly_json())
            assert "SECRET" not in shown and "root:" not in shown
    page = client(root)
    for path in (f"/assets/{evil}", f"/replay/lines?run={evil}&file={evil}", f"/{evil}"):
        assert b"SECRET" not in page.get(path).data


def test_an_unknown_run_is_a_sentence(root):
    shown = str(view_of(Context(Results(root)), "/run", "?run=11").to_plotly_json())
    assert "There is no run '11' in this folder. Did you mean '1'?" in shown


def test_a_file_that_the_page_has_not_is_a_line(root, caplog):
    """Any page can ask for it by an image's address: nothing is printed, and no traceback is sent."""
    page = client(root)
    dashs = "os/path.py nope/x.js dash/x.js dash/../../os.py plotly/a%00b.js dash_ag_grid/metadata.json".split()
    for path in (*(f"/_dash-component-suites/{name}" for name in dashs), "/assets/nope", "/assets/%2e%2e/app.py"):
        for method in ("GET", "HEAD"):
            answer = page.open(path, method=method)
            assert (answer.status_code, answer.mimetype) == (404, "text/plain"), path
            assert "\n" not in answer.text and "Content-Security-Policy" in answer.headers
    assert not caplog.records


ROUTE = {
    "output": "view.children",
    "outputs": {"id": "view", "property": "children"},
    "inputs": [{"id": "url", "property": name, "value": "/"} for name in ("pathname", "search")],
    "changedPropIds": ["url.pathname"],
}
MISFITS = [
    *(b"", b"{", b"null", b"[]", b"3", b"\xff", b"[" * 100_000, b"{}"),
    *({**ROUTE, "output": name} for name in (3, ["x"], {"a": 1}, "x", "..a.b...c.d..", "nav.data-here")),
    *({**ROUTE, "inputs": inputs} for inputs in (3, [], [3], ROUTE["inputs"][:1], ROUTE["inputs"][::-1], [{}, {}])),
    *({**ROUTE, "outputs": outputs} for outputs in (None, 3, [], [{}], {"id": "view"}, {"id": [], "property": {}})),
    *({**ROUTE, "changedPropIds": names} for names in (3, [3], [[]])),
]


def test_an_update_that_fits_no_part_of_the_page_is_refused_in_a_line(root, caplog):
    page, headers = client(root), {"Origin": "http://localhost"}
    assert page.post(UPDATE, json=ROUTE, headers=headers).status_code == 200
    for body in MISFITS:
        data = body if isinstance(body, bytes) else json.dumps(body)
        answer = page.post(UPDATE, data=data, headers={**headers, "Content-Type": "application/json"})
        assert (answer.status_code, answer.text.count("\n")) == (400, 0), data[:200]
    assert page.post(UPDATE, data=json.dumps(ROUTE), headers=headers).status_code == 400, "it is not sent as JSON"
    assert not caplog.records


def test_values_of_any_type_break_no_part_of_the_page(root, caplog):
    app = create_app(root, write=True)
    page = app.server.test_client()
    known = [(output, callback) for output, callback in app.callback_map.items() if "callback" in callback]
    for (output, callback), value in itertools.product(known, (None, 3, True, ["x"], {"a": 1}, "9" * 400)):
        names = [name.rpartition(".") for name in output.strip(".").split("...")]
        outputs = [{"id": part, "property": key} for part, _, key in names]
        body = {"output": output, "outputs": outputs if output.startswith("..") else outputs[0]}
        for kind in ("inputs", "state"):
            body[kind] = [{**part, "value": value} for part in callback[kind]]
        answer = page.post(UPDATE, json=body, headers={"Origin": "http://localhost"})
        assert answer.status_code in (200, 204), output
    assert not caplog.records and not (root / ".browser-notes.json").exists()


@pytest.mark.parametrize("start", ["GET http://[ HTTP/1.1", "GET / HTTP/9.9", "\0", f"GET /{'x' * 300_000} HTTP/1.1"])
def test_what_is_no_request_is_refused_and_prints_nothing(root, start, capfd):
    listening = listen("127.0.0.1", 0)
    server = server_of(create_app(root).server, listening)
    address = listening.getsockname()
    with running(server), socket.create_connection(address, timeout=10) as connection:
        connection.sendall(f"{start}\r\nConnection: close\r\n\r\n".encode())
        try:
            answer = connection.recv(1 << 16)
        except ConnectionResetError:
            answer = b""
    assert answer[:10] in (b"", b"HTTP/1.0 4", b"HTTP/1.1 4") and b"<" not in answer
    assert capfd.readouterr().err == ""
