"""The addresses of replays: which a run has, and only their bytes, from any place on."""

import os

import pytest

from browser.page.replays import view as view
from browser.page.replays.replay_files import all_replays, replays_of
from browser.page.replays.replay_table import replay_table
from browser.page.server.app import create_app
from browser.reading import UnknownRunError
from page_views import context_of
from replay_pages import write_replay
from results_folders import write_run
from utils.errors import ConfigError


@pytest.fixture
def results(tmp_path):
    """Run 3, of token `trained`, with two replays; a replay that was played later with its models; and a stranger."""
    folder = tmp_path / "results"
    write_run(folder, 3, info={"unique_token": "trained"})
    files = [
        write_replay(folder, "trained", "100_0.jsonl"),
        write_replay(folder, "trained", "2000_1.jsonl"),
        write_replay(folder, "watched", "2000_0.jsonl", header={"checkpoint_path": "elsewhere/models/trained"}),
        write_replay(folder, "stranger", "7_0.jsonl", header={"checkpoint_path": None}),
    ]
    for age, path in enumerate(files):
        os.utime(path, (1000 + age, 1000 + age))
    (folder / "replays" / "trained" / "game.SC2Replay").write_bytes(b"another format")
    return folder


@pytest.fixture
def client(results):
    return create_app(results).server.test_client()


def lines(client, **query):
    return client.get("/replay/lines", query_string=query, base_url="http://localhost")


def names(files):
    return [(one.token, one.name) for one in files]


@pytest.mark.parametrize("run", ["3", "trained", "watched"])
def test_a_run_has_its_own_replays_and_those_played_with_its_models(results, run):
    found = names(replays_of(context_of(results), run))
    assert found == [("watched", "2000_0.jsonl"), ("trained", "2000_1.jsonl"), ("trained", "100_0.jsonl")]


def test_an_evaluation_with_a_record_has_its_replays(results):
    """`--evaluate=RUN with save_replay=True`: its own page said that there are none."""
    write_run(results, 4, info={"unique_token": "evaluated"})
    write_replay(results, "evaluated", "2000_0.jsonl", header={"checkpoint_path": "elsewhere/models/trained"})
    context = context_of(results)
    assert names(replays_of(context, "4")) == [("evaluated", "2000_0.jsonl")]
    assert len(replays_of(context, "3")) == 3


def test_replays_of_checkpoints_belong_to_their_run(results):
    path = "elsewhere/runs/trained/checkpoints"
    write_replay(results, "later", "1_0.jsonl", header={"checkpoint_path": path})
    context = context_of(results)
    assert ("later", "1_0.jsonl") in names(replays_of(context, "trained"))
    assert names(replays_of(context, "stranger")) == [("stranger", "7_0.jsonl")]
    assert len(all_replays(context)) == 5
    with pytest.raises(UnknownRunError, match="stranger"):
        replays_of(context, "strangr")


def test_the_content_of_the_view(results):
    context = context_of(results)

    def source(**query):
        return view.layout(context, query).children[-1].to_plotly_json()["props"]["data-source"]

    assert source(run="3") == "/replay/lines?run=watched&file=2000_0.jsonl"
    assert source(run="trained", file="100_0.jsonl") == "/replay/lines?run=trained&file=100_0.jsonl"
    assert source() == "/replay/lines?run=stranger&file=7_0.jsonl"
    with pytest.raises(ConfigError, match=r"no replay '10_0.jsonl'.*100_0\.jsonl"):
        view.layout(context, {"run": "3", "file": "10_0.jsonl"})
    write_run(results, 4, info={"unique_token": "unrecorded"})
    context.forget_scan()
    assert "save_replay=True" in str(view.layout(context, {"run": "4"}))


def test_the_bytes_from_any_place_of_a_file_that_grows(results, client):
    path = results / "replays" / "trained" / "100_0.jsonl"
    body = path.read_bytes()
    query = {"run": "trained", "file": "100_0.jsonl"}
    answer = lines(client, **query)
    assert (answer.status_code, answer.data, answer.headers["Cache-Control"]) == (200, body, "no-store")
    assert lines(client, **query, **{"from": 17}).data == body[17:]
    assert lines(client, **query, **{"from": len(body)}).data == b""
    with open(path, "ab") as file:
        file.write(b"more")
    assert lines(client, **query, **{"from": len(body)}).data == b"more"
    assert lines(client, **query, **{"from": len(body) + 5}).status_code == 409
    for wrong in ("-1", "x", "1" * 30, "²"):
        assert lines(client, **query, **{"from": wrong}).status_code == 400


def test_steps_added_while_sending_wait_for_the_next_request(results, client):
    """The length is announced before the bytes are read."""
    path = results / "replays" / "trained" / "100_0.jsonl"
    body = path.read_bytes()
    answer = client.get("/replay/lines?run=trained&file=100_0.jsonl", base_url="http://localhost", buffered=False)
    with open(path, "ab") as file:
        file.write(b"more")
    assert int(answer.headers["Content-Length"]) == len(body)
    assert answer.data == body


@pytest.mark.parametrize(
    ("run", "file"),
    [
        *(("trained", name) for name in ("../../../secret.jsonl", "/etc/passwd", "game.SC2Replay", "100_0.jsonl\0")),
        *(("trained", name) for name in ("link.jsonl", "pipe.jsonl", "folder.jsonl", "..")),
        *(("..", "secret.jsonl"), ("../..", "secret.jsonl"), ("linked", "secret.jsonl"), ("", "")),
    ],
)
def test_nothing_else_is_served(results, client, run, file):
    (results.parent / "secret.jsonl").write_text("secret")
    folder = results / "replays" / "trained"
    (folder / "link.jsonl").symlink_to(results.parent / "secret.jsonl")
    (results / "replays" / "linked").symlink_to(results.parent)
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()
    answer = lines(client, run=run, file=file)
    assert answer.status_code == 404
    assert b"secret" not in answer.data


def test_a_replay_that_no_browser_could_hold_is_refused(results, client):
    with open(results / "replays" / "trained" / "100_0.jsonl", "ab") as file:
        file.truncate(2**40)
    answer = lines(client, run="trained", file="100_0.jsonl")
    assert (answer.status_code, answer.text) == (
        *(404, "This replay cannot be read: it is 1.0 TiB long, longer than 268435456 bytes."),
    )


def test_broken_headers_belong_to_no_run(results):
    for number, body in enumerate((b"", b"{", b"[1]\n", b'{"checkpoint_path": 5}\n', b'{"checkpoint_path": ".."}\n')):
        path = write_replay(results, f"odd{number}", "1_0.jsonl")
        path.write_bytes(body)
        context = context_of(results)
        assert names(replays_of(context, f"odd{number}")) == [(f"odd{number}", "1_0.jsonl")]


def test_the_table_has_the_scenarios_and_the_results(results):
    write_replay(results, "trained", "3000_0.jsonl", header={"algorithm": {"name": "qmix"}, "map": "3m"})
    write_replay(results, "trained", "4000_0.jsonl", footer=False)
    write_replay(results, "trained", "5000_0.jsonl").write_bytes(
        b'[1]\n{"algorithm": 5}\n{"type": "footer", "won": 3}\n'
    )
    context = context_of(results)
    table = replay_table(context, replays_of(context, "3"), "3").children[0]
    head = [cell.children for cell in table.children[0].children.children]
    rows = [
        dict(zip(head, (cell.children for cell in row.children), strict=True)) for row in table.children[1].children
    ]
    by_name = {getattr(row["Replay"], "title", ""): row for row in rows}
    row = by_name["3000_0.jsonl"]
    assert [row[name] for name in ("Algorithm", "Map", "Seed", "Return", "Outcome", "Steps", "Run")] == [
        *("qmix", "3m", "1", "4", "won", "4", "trained")
    ]
    assert by_name["4000_0.jsonl"]["Outcome"] == "not finished" and by_name["5000_0.jsonl"]["Return"] == ""
    assert {row["Run"] for row in rows} == {"trained", "watched"}
