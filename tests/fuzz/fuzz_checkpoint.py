"""Any bytes in a checkpoint's files: what was written, or a CheckpointError. `python fuzz_checkpoint.py [options]`."""

import io
import json
import pickle
import sys
import tempfile
import zipfile
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "support")]
sys.dont_write_bytecode = True

with atheris.instrument_imports(include=["checkpoints", "utils"], enable_loader_override=False):
    import numpy as np
    import torch as th
    from watching import allow_only

    from checkpoints.errors import CheckpointError
    from checkpoints.folder import NewFolder, checksum, read_manifest, verify
    from checkpoints.segments import Segment, read_segment, segments_of, write_segment
    from checkpoints.tree import load_tree, tree_bytes
    from components.buffers.episodes import EpisodeReplay
    from fakes import RecordingLogger
    from helpers import make_args, random_batch
    from records.layout import MANIFEST

ODD = [
    None,
    True,
    -1,
    0,
    2**70,
    1e999,
    float("nan"),
    "",
    "x",
    "../x",
    "\x1b[31m\0",
    [],
    {},
    [[]],
    {"py/object": "os.x"},
]


def new_buffer() -> EpisodeReplay:
    """A buffer of four episodes as the files here are of."""
    like = random_batch([1], 5)
    scheme = {key: dict(info) for key, info in like.scheme.items() if key not in ("filled", "actions_onehot")}
    return EpisodeReplay(
        scheme, like.groups, 5, like.preprocess, make_args(buffer_size=4, batch_size=4), RecordingLogger()
    )


def valid_files(folder: Path) -> dict[str, bytes]:
    """The files of a whole checkpoint."""
    buffer = new_buffer()
    buffer.insert(random_batch([2, 4, 1], 5))
    new = NewFolder(folder / "400", "run_1")
    with new.new_file("buffer-0-3.bin") as file:
        write_segment(file, buffer.journal, 0, 3)
    with new.new_file("state.th") as file:
        file.write(tree_bytes({"a": th.ones(3), "b": [1, ("x", 2.5)], "c": np.ones((2, 2))}))
    new.finish({"number": 1, "t_env": 400, "token": "run_1", "config": {"a": 1}, "code": {}})
    return {path.name: path.read_bytes() for path in (folder / "400").iterdir()}


def overwritten(whole: bytes, data: atheris.FuzzedDataProvider) -> bytes:
    """`whole` with some bytes replaced, taken out or put in."""
    for _ in range(data.ConsumeIntInRange(1, 4)):
        at, gone = data.ConsumeIntInRange(0, len(whole)), data.ConsumeIntInRange(0, 20)
        whole = whole[:at] + data.ConsumeBytes(data.ConsumeIntInRange(0, 20)) + whole[at + gone :]
    return whole


def changed_json(value, data: atheris.FuzzedDataProvider):
    """A JSON value with some of its parts replaced by odd ones."""
    if data.ConsumeIntInRange(0, 9) == 0:
        return data.PickValueInList(ODD) if data.ConsumeBool() else data.ConsumeInt(8)
    if isinstance(value, dict):
        return {key: changed_json(inner, data) for key, inner in value.items() if data.ConsumeIntInRange(0, 19)}
    if isinstance(value, list):
        return [changed_json(inner, data) for inner in value for _ in range(1 if data.ConsumeIntInRange(0, 19) else 2)]
    return value


def with_pickle(whole: bytes, pickled: bytes) -> bytes:
    """A file of torch's whose pickle is another one."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as source, zipfile.ZipFile(target, "w") as new:
        for name in source.namelist():
            new.writestr(name, pickled if name.endswith("data.pkl") else source.read(name))
    return target.getvalue()


def pickle_of(whole: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(whole)) as file:
        return file.read(next(name for name in file.namelist() if name.endswith("data.pkl")))


def read(raw: bytes) -> None:
    """One reading of a checkpoint of which one file is changed."""
    data = atheris.FuzzedDataProvider(raw)
    form, name = data.ConsumeIntInRange(0, 3), data.PickValueInList(sorted(FILES))
    whole = FILES[name]
    if form == 0:
        whole = data.ConsumeBytes(len(raw))
    elif form == 1 or (name == "state.th" and form == 2):
        whole = overwritten(whole, data)
    elif name == "state.th":
        whole = with_pickle(whole, overwritten(pickle_of(whole), data))
    else:
        line, _, rest = (whole + b"\n").partition(b"\n") if name != MANIFEST else (whole, b"", b"")
        changed = changed_json(json.loads(line), data)
        if name == MANIFEST and isinstance(changed, dict):
            changed["sha256"] = checksum(changed)
        whole = json.dumps(changed).encode() + b"\n" + rest[:-1]
    (CHECKPOINT / name).write_bytes(whole)
    try:
        if name == "state.th":
            pickle.dumps(load_tree(CHECKPOINT / name))
        elif name == MANIFEST:
            manifest = read_manifest(CHECKPOINT)
            verify(CHECKPOINT, manifest)
            segments_of(CHECKPOINT, manifest)
        else:
            buffer = new_buffer()
            buffer.load_state_dict({"inserted": data.ConsumeIntInRange(0, 8)})
            read_segment(Segment(0, 3, CHECKPOINT / name, {}), buffer.journal)
    except CheckpointError as error:
        str(error)
    finally:
        (CHECKPOINT / name).write_bytes(FILES[name])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        FILES = valid_files(Path(folder))
        CHECKPOINT = Path(folder) / "400"
        read(b"")
        allow_only(folder)
        atheris.Setup(sys.argv, read)
        atheris.Fuzz()
