"""Files of runs: which are listed, shown and served, and that nothing else ever is."""

import os
import struct
import zlib

import pytest

from browser.page.run import files
from browser.page.run.request import RunRequest
from browser.page.server.app import create_app
from page_views import context_of, text_of
from results_folders import write_log, write_run

SCRIPT = b"<script>window.hacked = 1</script>"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'>" + SCRIPT + b"</svg>"


def png(width=4, height=4):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x00\x72\xb2" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


ARTIFACTS = {"plot.png": png(), "notes.txt": b"a <b>note</b>", "page.html": SCRIPT, "lie.png": SVG, "drawing.svg": SVG}


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "results"
    folder = write_run(
        root, 3, info={"unique_token": "t"}, artifacts=[*ARTIFACTS, "linked.txt", "pipe.txt", "gone.txt"]
    )
    write_run(root, 4, info={"unique_token": "other"}, artifacts=["theirs.txt"])
    (root / "sacred" / "4" / "theirs.txt").write_text("theirs")
    for name, data in ARTIFACTS.items():
        (folder / name).write_bytes(data)
    (tmp_path / "secret").write_text("SECRET")
    (folder / "linked.txt").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "pipe.txt")
    (folder / "private.txt").write_text("lies in the run's folder, but was not given to Sacred")
    write_log(root, "t", [(10, 1, 1.0, "loss", 1.0)])
    for path in ("models/t/10/agent.th", "runs/t/checkpoints/10/opt.th", "replays/t/10_0.jsonl", "tb_logs/t/events"):
        (root / path).parent.mkdir(parents=True)
        (root / path).write_bytes(path.encode())
    (root / "runs/t/checkpoints/10/manifest.json").write_text('{"episode": 7}')
    (root / "runs/t/summary.html").write_bytes(SCRIPT)
    return root


def get(root, path, run="3", **query):
    client = create_app(root).server.test_client()
    return client.get("/file", query_string={"run": run, "path": path, **query}, base_url="http://localhost")


def cards(context, run):
    """The cards of artifacts and of files."""
    return files.draw(RunRequest(context, context.run(run)))[:2]


def rows_of(context, run):
    return {row["path"]: row for row in cards(context, run)[1].children[1].children.rowData}


def test_every_file_is_listed_with_size_and_time(context):
    rows = rows_of(context, "3")
    kinds = {path: row["kind"] for path, row in rows.items()}
    assert kinds == {
        **{f"sacred/3/{name}": "artifact" for name in (*ARTIFACTS, "linked.txt", "pipe.txt")},
        "models/t/10/agent.th": "model",
        **{f"runs/t/checkpoints/10/{name}": "checkpoint" for name in ("manifest.json", "opt.th")},
        "replays/t/10_0.jsonl": "replay",
        "tb_logs/t/events": "tensorboard",
        **{f"sacred/3/{name}": "record" for name in ("run.json", "config.json", "info.json", "cout.txt")},
        **{f"runs/t/{name}": "record" for name in ("metrics.csv", "summary.html")},
    }
    model, checkpoint = rows["models/t/10/agent.th"], rows["runs/t/checkpoints/10/opt.th"]
    assert (model["step"], model["size"], model["changed"][:2]) == (10, len("models/t/10/agent.th"), "20")
    assert (checkpoint["episode"], checkpoint["href"]) == (7, "/file?run=3&path=runs/t/checkpoints/10/opt.th")
    for name, kind in (("linked.txt", "a link"), ("pipe.txt", "a pipe")):
        assert kind in rows[f"sacred/3/{name}"]["problem"]
    assert not any(row["problem"] for path, row in rows.items() if "linked" not in path and "pipe" not in path)


@pytest.mark.parametrize("path", ["models/t/10/agent.th", "runs/t/checkpoints/10/opt.th", "replays/t/10_0.jsonl"])
def test_every_file_is_a_download_that_can_do_nothing(root, path):
    answer = get(root, path)
    assert (answer.status_code, answer.data, answer.mimetype) == (200, path.encode(), "application/octet-stream")
    assert int(answer.headers["Content-Length"]) == len(path)
    assert answer.headers["Content-Disposition"] == f"attachment; filename={os.path.basename(path)}"
    policy = answer.headers["Content-Security-Policy"]
    assert "sandbox" in policy and "default-src 'none'" in policy and "script-src" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("name", ["page.html", "drawing.svg", "lie.png"])
def test_files_that_may_hold_a_script_are_never_shown(root, name):
    assert get(root, f"sacred/3/{name}").mimetype == "application/octet-stream"
    answer = get(root, f"sacred/3/{name}", show="1")
    assert (answer.status_code, answer.mimetype) == (415, "text/plain") and b"script" not in answer.data


def test_pictures_are_served_with_their_types(root, monkeypatch):
    answer = get(root, "sacred/3/plot.png", show="1")
    assert (answer.status_code, answer.mimetype, answer.data) == (200, "image/png", ARTIFACTS["plot.png"])
    assert answer.headers["Content-Disposition"] == "inline" and "sandbox" in answer.headers["Content-Security-Policy"]
    monkeypatch.setattr(files, "LARGEST_PICTURE", 10)
    answer = get(root, "sacred/3/plot.png", show="1")
    assert answer.status_code == 404 and "longer than 10 bytes" in answer.text


def test_a_download_has_a_largest_size(root):
    with open(root / "models/t/10/agent.th", "ab") as file:
        file.truncate(2**40)
    answer = get(root, "models/t/10/agent.th")
    assert answer.status_code == 404 and "1.0 TiB long" in answer.text
    context = context_of(root)
    assert "4.0 GiB" in rows_of(context, "3")["models/t/10/agent.th"]["problem"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("show", ["", "1"])
@pytest.mark.parametrize(
    "path",
    [
        *(f"sacred/3/{name}" for name in ("linked.txt", "pipe.txt", "gone.txt", "private.txt", "./plot.png", "")),
        *("../secret", "sacred/3/../../../secret", "/etc/passwd", "//etc/passwd", "models/t/10/../10/agent.th"),
        *("sacred/4/theirs.txt", "sacred/4/run.json", "sacred/3", "models/t", "", "a\0b", ".browser-notes.json"),
    ],
)
def test_nothing_else_is_served(root, path, show):
    answer = get(root, path, show=show)
    assert answer.status_code == 404 and b"SECRET" not in answer.data and b"theirs" not in answer.data


def test_a_file_that_turns_into_a_link_is_not_served(root):
    """Between being listed and being opened."""
    context = context_of(root)
    path = root / "sacred" / "3" / "plot.png"
    assert str(path.relative_to(root)) in {str(one.path) for one in context.results.files_of("3")}
    path.unlink()
    path.symlink_to(root.parent / "secret")
    with pytest.raises(OSError, match="a link"):
        context.results.files.open("sacred/3/plot.png")
    assert get(root, "sacred/3/plot.png").status_code == 404


@pytest.mark.parametrize("run", ["5", "", "../3", "sacred/3"])
def test_files_belong_to_a_run(root, run):
    assert get(root, "models/t/10/agent.th", run=run).status_code == 404


def test_it_stands_under_the_pages_guards(root):
    client = create_app(root, token="a-token-of-24-characters").server.test_client()
    assert client.get("/file?run=3&path=models/t/10/agent.th").status_code == 403
    answer = create_app(root).server.test_client().get("/file?run=3&path=x", headers={"Host": "evil.example"})
    assert answer.status_code == 403


def test_names_of_files_are_no_headers(root):
    name = 'a"\r\nX-Evil: 1;ä.th'
    (root / "models" / "t" / "10" / name).write_bytes(b"model")
    answer = get(root, f"models/t/10/{name}")
    assert answer.status_code == 200 and "X-Evil" not in answer.headers
    said = answer.headers["Content-Disposition"]
    assert said.isascii() and "\n" not in said and said.endswith("filename*=UTF-8''a___X-Evil%3A%201%3B%C3%A4.th")


def test_pictures_and_texts_are_seen_on_the_page(context):
    shown = text_of(cards(context, "3")[0])
    assert "/file?run=3&path=sacred/3/plot.png&show=1" in shown
    assert "a <b>note</b>" in shown and "window.hacked" in shown, "as text"
    assert not any(part in shown for part in ("drawing.svg&show=1", "lie.png&show=1", "SECRET", "pipe.txt"))
    assert cards(context, "4")[0] is not None
    (context.root / "sacred" / "4" / "theirs.txt").write_text("x" * 10**6)
    assert len(text_of(cards(context, "4")[0])) < 30_000
