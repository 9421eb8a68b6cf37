"""The link: the table of messages, turns, and bytes that make no sense."""

import socket
import struct
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.trackmania.link import GameLink, GameLost, TurnError
from envs.trackmania.messages import BY_NAME, MESSAGES, MOST_STATE, encoded, table

pytestmark = pytest.mark.slow

# by hand, from the description of the wire
WIRE = {
    ("set_speed", 80.0): "06000000 0000a042",
    ("rewind", b"abc"): "07000000 03000000 616263",
    ("rewind_in_place",): "08000000",
    ("get_state",): "09000000",
    ("set_inputs", 1, 0, 1, 0): "0a000000 01000100",
    ("give_up",): "0b000000",
    ("prevent_finish",): "0c000000",
    ("shutdown",): "0d000000",
    ("execute", "map é"): "0e000000 06000000 6d617020c3a9",
    ("set_timeout", 600_000_000): "0f000000 0046c323",
    ("race_finished",): "10000000",
    ("request_frame", 160, 120): "11000000 a0000000 78000000",
    ("reset_camera",): "12000000",
    ("set_step_period", 50): "13000000 32000000",
    ("cancel_frame",): "14000000",
    ("toggle_interface", 0): "15000000 00000000",
    ("in_menus",): "16000000",
    ("get_inputs",): "17000000",
    ("run_step", -2600): "01000000 d8f5ffff",
    ("checkpoint_count", 1, 3): "02000000 01000000 03000000",
    ("lap_count", 1, 3): "03000000 01000000 03000000",
    ("frame", b"\1\2\3\4"): "04000000 01020304",
    ("connected",): "05000000",
}


@pytest.fixture
def connected():
    """A link over TCP with a short time-out, and the game's end of it."""
    links = []

    def connect(timeout=0.3):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            ours = socket.create_connection(listener.getsockname())
            theirs, _ = listener.accept()
        links.append((GameLink(ours, timeout), theirs))
        return links[-1]

    yield connect
    for link, theirs in links:
        link.close()
        theirs.close()


@pytest.mark.parametrize("message", sorted(WIRE, key=str))
def test_messages_on_the_wire(message):
    assert encoded(*message) == bytes.fromhex(WIRE[message])


def test_the_table_is_complete_and_in_the_docs():
    assert [message.number for message in MESSAGES] == list(range(1, 24))
    assert {name for name, *_ in WIRE} == set(BY_NAME)
    docs = Path(__file__).parents[3] / "docs" / "trackmania_game.md"
    assert table() in docs.read_text()


def test_a_turn_sends_its_commands_in_order_with_the_echo(connected):
    link, game = connected()
    game.sendall(encoded("run_step", 50))
    turn = link.turn()
    assert (turn.name, turn.values) == ("run_step", {"time": 50})
    turn.send("set_speed", 0.0)
    turn.send("give_up")
    turn.echo()
    assert game.recv(100) == encoded("set_speed", 0.0) + encoded("give_up") + struct.pack("<i", 1)


def test_questions_are_answered_within_a_turn(connected):
    link, game = connected()
    game.sendall(encoded("connected") + struct.pack("<i", 1) + struct.pack("<i", 3) + b"abc")
    turn = link.turn()
    turn.send("give_up")
    assert turn.ask("in_menus") == 1
    assert turn.ask("get_state") == b"abc"
    assert game.recv(100) == encoded("give_up") + encoded("in_menus") + encoded("get_state")


def test_turns_are_echoed_exactly_once(connected):
    link, game = connected()
    game.sendall(encoded("connected") * 2)
    turn = link.turn()
    with pytest.raises(TurnError, match="connected has not been echoed"):
        link.turn()
    turn.echo()
    link.turn()
    for use in (turn.echo, turn.flush, lambda: turn.ask("get_state"), lambda: turn.send("give_up")):
        with pytest.raises(TurnError, match="is over"):
            use()


def test_questions_are_no_commands_and_commands_no_questions(connected):
    link, game = connected()
    game.sendall(encoded("connected"))
    turn = link.turn()
    for mistake in (
        lambda: turn.send("get_state"),
        lambda: turn.send("run_step", 1),
        lambda: turn.ask("give_up"),
    ):
        with pytest.raises(TurnError):
            mistake()


def test_frames_have_the_size_that_was_requested(connected):
    link, game = connected()
    game.sendall(encoded("run_step", 0) + encoded("frame", bytes(range(24))))
    turn = link.turn()
    turn.send("request_frame", 3, 2)
    turn.echo()
    assert link.turn().values["pixels"] == bytes(range(24))


@pytest.mark.parametrize(
    ("sent", "end", "message"),
    [
        (b"", "close", "closed the connection"),
        (b"\1\0\0\0\1\0", "close", "in the middle of a message"),
        (b"", "silence", "hangs: no message for 0.3 seconds"),
        (b"\1\0\0\0\1\0", "silence", "hangs"),
        (b"\1\0\0\0\1\0", "reset", "connection is lost|closed the connection"),
        (encoded("give_up"), "silence", "of type 11"),
        (encoded("frame", b"1234"), "silence", "never requested"),
    ],
)
def test_a_game_that_is_gone_is_one_kind_of_error(connected, sent, end, message):
    link, game = connected()
    game.sendall(sent)
    if end == "reset":
        game.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if end != "silence":
        game.close()
    with pytest.raises(GameLost, match=message):
        link.turn()


def test_a_trickle_does_not_extend_the_time_out(connected):
    link, game = connected(0.4)

    def trickle():
        for byte in b"\1\0\0\0\1\0\0\0":
            time.sleep(0.15)
            try:
                game.sendall(bytes([byte]))
            except OSError:
                return

    threading.Thread(target=trickle, daemon=True).start()
    begun = time.monotonic()
    with pytest.raises(GameLost, match="hangs"):
        link.turn()
    assert time.monotonic() - begun < 1.4  # 1.6, if each byte extended it


@pytest.mark.parametrize("size", [-1, -(2**31), MOST_STATE + 1, 2**31 - 1])
def test_sizes_are_bounded_before_memory_is_taken(connected, size):
    link, game = connected()
    game.sendall(encoded("connected") + struct.pack("<i", size))
    turn = link.turn()
    with pytest.raises(GameLost, match=f"announced {size} bytes"):
        turn.ask("get_state")


def test_a_full_pipe_is_a_lost_game_too(connected):
    link, game = connected()
    game.sendall(encoded("connected"))
    turn = link.turn()
    turn.send("rewind", bytes(2**25))
    with pytest.raises(GameLost, match="hangs"):
        turn.flush()


def test_closing_lets_the_game_run_at_its_own_speed(connected):
    link, game = connected()
    game.sendall(encoded("run_step", 0))
    link.turn().send("set_speed", 0.0)
    link.close()
    link.close()
    assert game.recv(100) == encoded("set_speed", 0.0) + encoded("set_speed", 1.0) + encoded("shutdown")
    assert game.recv(1) == b""


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60), st.integers(1, 7))
def test_any_bytes_in_any_pieces_are_turns_or_a_lost_game(data, piece):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        theirs, _ = listener.accept()
    link, turns = GameLink(ours, 0.5), 0

    def send():
        theirs.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(data), piece):
            theirs.sendall(data[at : at + piece])
        theirs.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(GameLost):
            while True:
                turn = link.turn()
                assert BY_NAME[turn.name].number <= 5
                turn.ask("get_state")
                turn.echo()
                turns += 1
    finally:
        sender.join()
        link.close()
        theirs.close()
    assert 8 * turns <= len(data)
