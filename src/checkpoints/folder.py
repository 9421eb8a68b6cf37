"""One checkpoint: a folder whose manifest names every file in it, with size and checksum, and its own checksum."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from checkpoints.errors import CheckpointError
from records.layout import MANIFEST
from records.limits import LARGEST
from records.tokens import is_token
from utils.files.folders import sync
from utils.files.regular_files import open_regular, read_regular
from utils.files.whole_files import set_aside
from utils.plain_values import problem_of, quoted

FORMAT = 4
# the file with all state of a checkpoint but its models' and buffers'
STATE = "state.th"
# the entries of manifests: of models, and of checkpoints
OF_MODELS = {"files": dict, "sha256": str}
OF_CHECKPOINTS = {"number": int, "t_env": int, "token": str, "config": dict, **OF_MODELS}
# how a checkpoint's folder is called while it is written, after another has got its name, and while it is removed
UNFINISHED, REPLACED, REMOVED = "tmp", "replaced", "removed"
# of a file, or of one in a folder of the checkpoint, as models of several teams are
PLAIN_NAME = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_. +-]*/)?[A-Za-z0-9_][A-Za-z0-9_. +-]*")


class NewFolder:
    """A checkpoint being written, in a folder beside its place; `finish` puts it there, whole.

    Args:
        place: the checkpoint's folder.
        token: the run's.

    Raises:
        OSError: it cannot be made; `place` is in a folder that is a link, say.
    """

    def __init__(self, place: Path, token: str):
        self._place, self._token = place, token
        self.path = hidden(place, token, UNFINISHED)
        if place.parent.is_symlink():
            raise OSError(None, f"{place.parent} is a link", str(place))
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir(parents=True, mode=0o700)
        self._files: dict[str, dict] = {}

    @contextlib.contextmanager
    def new_file(self, name: str) -> Iterator["HashedFile"]:
        """A file to write into; it is on the disk when the block ends."""
        with HashedFile(self.path / name) as file:
            yield file
        self._files[name] = file.entry()

    def take_all(self) -> None:
        """Enter files that others have written into `path`."""
        for path in sorted(self.path.rglob("*")):
            name = path.relative_to(self.path).as_posix()
            if name in self._files:
                continue
            sync(path)
            if path.is_file():
                self._files[name] = file_entry(path)

    def link(self, source: Path, entry: dict) -> None:
        """Have a file of an older checkpoint in this one, too, without copying it where that can be done."""
        target = self.path / source.name
        try:
            os.link(source, target)
        except OSError:  # a file system without hard links
            shutil.copyfile(source, target)
            sync(target)
        self._files[source.name] = entry

    def finish(self, figures: dict[str, Any]) -> dict:
        """Write the manifest, with `figures` in it, and put the folder in its place. Returns the manifest."""
        manifest = sealed({**figures, "files": self._files})
        with HashedFile(self.path / MANIFEST) as file:
            file.write(manifest_bytes(manifest))
        sync(self.path)
        put_in_place(self.path, self._place, self._token)
        return manifest

    def abandon(self) -> None:
        """Remove the written files."""
        shutil.rmtree(self.path, ignore_errors=True)


def hidden(place: Path, token: str, kind: str) -> Path:
    """The temporary name of a checkpoint's folder, of the run `token`."""
    return place.with_name(f".{place.name}.{token}.{kind}")


def is_checkpoint_of(folder: Path, token: str) -> bool:
    """Whether the run `token` has written this checkpoint, as its manifest says; never through a link."""
    try:
        return not folder.is_symlink() and read_manifest(folder)["token"] == token
    except CheckpointError:
        return False


def put_in_place(folder: Path, place: Path, token: str) -> None:
    """Give a whole checkpoint of the run `token` its name.

    One of the run's that had the name is removed, anything else set aside as `<name>.1`, `<name>.2`, ...
    """
    replaced = hidden(place, token, REPLACED)
    if is_checkpoint_of(place, token):
        if folder == replaced:
            remove(place, token)
        else:
            shutil.rmtree(replaced, ignore_errors=True)
            os.rename(place, replaced)
    elif os.path.lexists(place):
        set_aside(str(place))
    os.rename(folder, place)
    sync(place.parent)
    shutil.rmtree(replaced, ignore_errors=True)


def remove(folder: Path, token: str) -> None:
    """Remove a checkpoint of the run `token`, as far as possible; the rest is not a valid checkpoint."""
    removed = hidden(folder, token, REMOVED)
    with contextlib.suppress(OSError):
        os.rename(folder, removed)
        shutil.rmtree(removed, ignore_errors=True)


class HashedFile:
    """A new file, private to the user, that counts and hashes the written bytes."""

    def __init__(self, path: Path):
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
        self._hash, self._bytes = hashlib.sha256(), 0

    def write(self, data: Any) -> None:
        """Write bytes or a contiguous buffer."""
        self._hash.update(data)
        self._bytes += memoryview(data).nbytes
        self._file.write(data)

    def entry(self) -> dict:
        """The file's entry in a manifest."""
        return {"bytes": self._bytes, "sha256": self._hash.hexdigest()}

    def __enter__(self) -> "HashedFile":
        return self

    def __exit__(self, *_: Any) -> None:
        with self._file:
            self._file.flush()
            os.fsync(self._file.fileno())


def file_entry(path: Path) -> dict:
    """The entry of an existing file in a manifest.

    Raises:
        OSError: it cannot be read, or is not a regular file.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        return {"bytes": size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def checksum(manifest: dict) -> str:
    """SHA-256 of a manifest, except for its own entry `sha256`: of its JSON, sorted, without blanks."""
    entries = {key: value for key, value in manifest.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(entries, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def sealed(entries: dict[str, Any]) -> dict:
    """A manifest: its format, `entries`, "files" among them, and its own checksum."""
    manifest = {"format": FORMAT, **entries}
    return {**manifest, "sha256": checksum(manifest)}


def manifest_bytes(manifest: dict) -> bytes:
    """The content of its file."""
    return json.dumps(manifest, indent=1).encode()


def read_manifest(folder: Path, kinds: Mapping[str, type] = OF_CHECKPOINTS) -> dict:
    """The manifest in a folder, its form and its checksum checked; `kinds`: the entries that it must have.

    Raises:
        CheckpointError: it is missing, damaged or invalid.
    """
    path = folder / MANIFEST
    try:
        manifest = json.loads(read_regular(path, LARGEST[MANIFEST]))
    except FileNotFoundError:
        raise CheckpointError(f"{folder} has no {MANIFEST}: the checkpoint was not finished.") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise CheckpointError(f"{path} is torn or damaged: it is not JSON.") from None
    problem = _problem(manifest, kinds)
    if problem:
        raise CheckpointError(f"{path} is not a valid manifest: {problem}.")
    if checksum(manifest) != manifest["sha256"]:
        raise CheckpointError(f"{path} has changed since it was written: its checksum differs.")
    return manifest


def _problem(manifest: Any, kinds: Mapping[str, type]) -> str | None:
    if not isinstance(manifest, dict):
        return "it is not a mapping"
    if manifest.get("format") != FORMAT:
        return f"format is {quoted(manifest.get('format'))}, and this program reads {FORMAT}"
    for key, kind in kinds.items():
        if type(manifest.get(key)) is not kind:
            return f"'{key}' is missing or of another type"
    for name, entry in manifest["files"].items():
        if not PLAIN_NAME.fullmatch(name):
            return f"{quoted(name)} is not a valid name of a file in it"
        if not isinstance(entry, dict) or type(entry.get("bytes")) is not int or type(entry.get("sha256")) is not str:
            return f"the entry of {name} has no size and checksum"
    if "token" in kinds and not is_token(manifest["token"]):
        return f"{quoted(manifest['token'])} is not a valid name of a run"
    if "config" in kinds and (problem := problem_of(manifest["config"])):
        return f"its config is invalid: {problem}"
    return None


def verify(folder: Path, manifest: dict) -> None:
    """See that every file is there as it was written.

    Raises:
        CheckpointError: one is missing, cut off or changed.
    """
    for name, entry in manifest["files"].items():
        verify_file(folder / name, entry)


def verify_file(path: Path, entry: dict) -> None:
    """See that a file is there as a manifest's entry says.

    Raises:
        CheckpointError: it is missing, cut off or changed.
    """
    try:
        status = os.lstat(path)
        size, other = status.st_size, not stat.S_ISREG(status.st_mode)
        # a file may be of any length
        found = file_entry(path) if other or size == entry["bytes"] else None
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing.") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}.") from None
    if found is None:
        what = "truncated" if size < entry["bytes"] else "longer than it was"
        raise CheckpointError(f"{path} has {size} bytes instead of {entry['bytes']}: it is {what}.")
    if found["sha256"] != entry["sha256"]:
        raise CheckpointError(f"{path} has changed since it was written: its checksum differs.")
