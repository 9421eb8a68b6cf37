"""The bytes of both protocols, against numbers counted by hand, and bytes that are none of theirs."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dots_simulator import layout, wake
from dots_simulator.channels import ENGINE_CONFIGURATION, BodyReader, BodyWriter, framed, unframed
from dots_simulator.groups import GroupLayout, GroupSpec, Observation, read_groups
from dots_simulator.layout import LayoutError

SIGHT = (Observation((4,)), Observation((2, 3, 1)))


def test_a_group_of_0_says_whether_its_actions_are_continuous():
    """Behind its name of 64 bytes and the number of its agents; `test_dots_bytes` has all other bytes."""
    discrete, continuous = GroupSpec("Ball", 2, SIGHT, branches=(2, 5)), GroupSpec("Ball", 2, SIGHT, continuous=3)
    assert GroupLayout(discrete, "0").packed[68:69] == b"\0"
    assert GroupLayout(continuous, "0").packed[68:73] == b"\1\3\0\0\0"


def test_first_files_say_their_protocol():
    assert len(layout.first_header()) == 29 and len(layout.first_file_0()) == 22
    assert layout.protocol_of(layout.first_header(), 29) == "0.3.2"
    assert layout.protocol_of(layout.first_file_0(), 22) == "0"
    # the facts: 22 = header of 14, empty side channel of 4, count of 4
    assert struct.unpack("<iiBBiii", layout.first_file_0()) == (22, 0, 0, 0, 4, 0, 0)
    with pytest.raises(LayoutError, match=r"version 0\.3\.1"):
        layout.protocol_of(struct.pack("<iii", 0, 3, 1) + bytes(16), 28)
    for start in (b"", bytes(29), b"\x7fELF" + bytes(40)):
        with pytest.raises(LayoutError, match="no DOTS protocol"):
            layout.protocol_of(start, len(start))


SPECS = st.builds(
    GroupSpec,
    st.text("Ab 0?", min_size=1, max_size=60),
    st.integers(1, 5),
    st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple).map(Observation), max_size=3).map(tuple),
    st.integers(0, 3),
    st.lists(st.integers(1, 4), max_size=3).map(tuple),
)


@given(st.lists(SPECS, max_size=4, unique_by=lambda spec: spec.name), st.sampled_from(layout.PROTOCOLS))
def test_groups_are_read_back(specs, protocol):
    if protocol == "0":
        specs = [spec for spec in specs if not (spec.continuous and spec.branches)]
    groups = [GroupLayout(spec, protocol) for spec in specs]
    count = struct.pack("<i", len(groups)) if protocol == "0" else b""
    blocks = [group.packed.ljust(group.size, b"\0") for group in groups]
    file = b"12345" + count + b"".join(blocks)
    found = read_groups(file, 5, len(file), protocol)
    assert [group.spec for _, group in found] == specs
    assert [begin for begin, _ in found] == [5 + len(count) + sum(map(len, blocks[:i])) for i in range(len(blocks))]
    for begin, group in found:
        for name, view in group.views(bytearray(file), begin).items():
            assert np.all(view == 0), name


@given(st.data(), st.sampled_from(layout.PROTOCOLS))
def test_no_bytes_are_read_beyond_the_end(data, protocol):
    spec = GroupSpec("Ball", 2, SIGHT, branches=(2, 5))
    group = GroupLayout(spec, protocol)
    file = bytearray((struct.pack("<i", 1) if protocol == "0" else b"") + group.packed.ljust(group.size, b"\0"))
    at = data.draw(st.integers(0, len(group.packed)))
    file[at : at + 4] = data.draw(st.binary(min_size=4, max_size=4))
    end = data.draw(st.integers(0, len(file) + 9))
    try:
        found = read_groups(file, 0, end, protocol)
    except LayoutError:
        return
    for begin, other in found:
        assert begin + other.size <= min(end, len(file))


@pytest.mark.parametrize("protocol", layout.PROTOCOLS)
def test_two_groups_of_one_name_are_refused(protocol):
    group = GroupLayout(GroupSpec("Ball", 1, ()), protocol)
    block = group.packed.ljust(group.size, b"\0")
    file = (struct.pack("<i", 2) if protocol == "0" else b"") + block + block
    with pytest.raises(LayoutError, match="two groups are called 'Ball'"):
        read_groups(file, 0, len(file), protocol)


def test_messages_are_framed_in_the_order_of_net():
    channel = ENGINE_CONFIGURATION
    payload = framed([(channel, b"abc"), (channel, b"")])
    assert payload[:20] == bytes.fromhex("2c3451e97e4fea11b238784f4387d1f7") + b"\3\0\0\0"
    assert unframed(payload) == [(channel, b"abc"), (channel, b"")]
    for cut in (1, 19, 22, 30):
        with pytest.raises(LayoutError):
            unframed(payload[:cut])
    with pytest.raises(LayoutError, match="-1 bytes"):
        unframed(payload[:16] + b"\xff\xff\xff\xff")


def test_bodies_are_read_back():
    body = BodyWriter().boolean(True).int32(-2).float32(0.5).string("key").floats([1, 2]).raw(b"x").body
    assert bytes(body[:9]) == b"\1\xfe\xff\xff\xff\0\0\0\x3f"
    reader = BodyReader(body)
    assert (reader.boolean(), reader.int32(), reader.float32(), reader.string()) == (True, -2, 0.5, "key")
    assert reader.floats() == [1.0, 2.0] and reader.rest() == b"x"
    with pytest.raises(LayoutError):
        reader.int32()
    with pytest.raises(LayoutError):
        BodyReader(BodyWriter().int32(2**31 - 1).body).floats()


def test_a_wake_up_is_agreed_on_and_ends_with_the_other_side(tmp_path):
    path = tmp_path / "file"
    assert wake.Wake.of_simulator(path) is None
    trainer = wake.Wake.of_trainer(path)
    assert not trainer.join(path)
    simulator = wake.Wake.of_simulator(path)
    assert trainer.join(path)
    simulator.signal()
    trainer.wait(10)
    trainer.signal()
    simulator.wait(10)
    simulator.wait(0.01)
    assert not simulator.gone and not trainer.gone
    trainer.close()
    simulator.wait(10)
    assert simulator.gone
    # left over: nobody reads
    assert wake.Wake.of_simulator(path) is None
    simulator.close()
    wake.remove(path)
    assert not list(tmp_path.iterdir())
