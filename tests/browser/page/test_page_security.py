"""Who is answered, and what: hosts, tokens, other pages' requests, paths."""

import os

import pytest

pytest.importorskip("dash", reason="the run browser's packages are not installed")

from browser.page.app import create_app, view_of
from browser.page.context import Context
from browser.page.views import VIEWS
from browser.records import Results
from browser_folders import write_run, write_seeds

TOKEN = "a-token-of-24-characters"
UPDATE = "/_dash-update-component"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


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
    keys = (
        "run",
        "runs",
        "suite",
        "file",
        "metric",
        "metrics",
        "group",
        "columns",
        "filter",
        "sort",
        "axis",
        "step",
        "search",
    )
    for view in VIEWS:
        for key in keys:
            shown = str(view_of(context, view.PATH, f"?{key}={evil}").to_plotly_json())
            assert "SECRET" not in shown and "root:" not in shown
    page = client(root)
    for path in (f"/assets/{evil}", f"/replay/lines?run={evil}&file={evil}", f"/{evil}"):
        assert b"SECRET" not in page.get(path).data


def test_an_unknown_run_is_a_sentence(root):
    shown = str(view_of(Context(Results(root)), "/run", "?run=11").to_plotly_json())
    assert "There is no run '11' in this folder. Did you mean '1'?" in shown
