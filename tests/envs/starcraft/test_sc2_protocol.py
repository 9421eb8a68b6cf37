"""The game's messages, loaded without the package's generated code, against that code in another process."""

import json
import os
import subprocess
import sys

import pytest

from envs.starcraft import protocol

pytest.importorskip("s2clientprotocol", reason="s2clientprotocol is not installed (requirements-dev.txt)")

NAMES = "common data debug error query raw sc2api score spatial ui".split()
# what the package's own code makes of it, with the parser that still takes it
REFERENCE = """
import importlib, json, sys
names = sys.argv[1].split()
modules = {name: importlib.import_module(f"s2clientprotocol.{name}_pb2") for name in names}
public = {
    name: {
        "messages": sorted(module.DESCRIPTOR.message_types_by_name),
        "enums": {e: dict(getattr(module, e).items()) for e in module.DESCRIPTOR.enum_types_by_name},
        "values": {k: v for k, v in vars(module).items() if isinstance(v, int) and not k.startswith("_")},
    }
    for name, module in modules.items()
}
response = modules["sc2api"].Response(id=7, status=3)
for i in range(5):
    unit = response.observation.observation.raw_data.units.add(tag=2**40 + i, unit_type=48, owner=1 + i % 2)
    unit.health, unit.pos.x, unit.pos.y, unit.weapon_cooldown = 45.5 - i, 9.25 * i, 3.5, 0.125 * i
    unit.buff_ids.extend([i, 2 * i])
create = modules["sc2api"].RequestCreateGame(realtime=False, random_seed=3)
create.player_setup.add(type=modules["sc2api"].Computer, race=modules["common"].Zerg, difficulty=7)
print(json.dumps([public, response.SerializeToString().hex(), create.SerializeToString().hex()]))
"""


@pytest.fixture(scope="module")
def reference():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", REFERENCE, " ".join(NAMES)],
        env={**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def messages():
    protocol.install()
    protocol.install()  # the second time does nothing
    from s2clientprotocol import common_pb2, raw_pb2, sc2api_pb2

    return {"sc2api": sc2api_pb2, "common": common_pb2, "raw": raw_pb2}


def test_the_fast_parser_is_used():
    from google.protobuf.internal import api_implementation

    assert api_implementation.Type() != "python"


@pytest.mark.parametrize("name", NAMES)
def test_modules_equal_the_generated_ones(messages, reference, name):
    module, expected = sys.modules[f"s2clientprotocol.{name}_pb2"], reference[0][name]
    assert sorted(module.DESCRIPTOR.message_types_by_name) == expected["messages"]
    assert all(getattr(module, message).DESCRIPTOR.name == message for message in expected["messages"])
    assert {enum: dict(getattr(module, enum).items()) for enum in expected["enums"]} == expected["enums"]
    assert {k: v for k, v in vars(module).items() if isinstance(v, int)} == expected["values"]


def test_messages_of_the_old_code_are_read(messages, reference):
    response = messages["sc2api"].Response.FromString(bytes.fromhex(reference[1]))
    assert (response.id, response.status) == (7, messages["sc2api"].in_game)
    units = response.observation.observation.raw_data.units
    assert [(u.tag, u.owner, u.health, u.pos.x, u.weapon_cooldown, list(u.buff_ids)) for u in units] == [
        (2**40 + i, 1 + i % 2, 45.5 - i, 9.25 * i, 0.125 * i, [i, 2 * i]) for i in range(5)
    ]


def test_messages_equal_those_of_the_old_code(messages, reference):
    create = messages["sc2api"].RequestCreateGame(realtime=False, random_seed=3)
    computer, zerg = messages["sc2api"].Computer, messages["common"].Zerg
    create.player_setup.add(type=computer, race=zerg, difficulty=messages["sc2api"].VeryHard)
    assert create.SerializeToString().hex() == reference[2]


def test_files_of_newer_compilers_are_read_too(tmp_path):
    path = tmp_path / "new_pb2.py"
    path.write_text("DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\\n\\x07a.proto')\n")
    assert protocol.serialised_description(path) == b"\n\x07a.proto"
    path.write_text("x = f(serialized_pb=b'')\n")
    with pytest.raises(ImportError, match=r"new_pb2.py holds no serialised message descriptions"):
        protocol.serialised_description(path)
