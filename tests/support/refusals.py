"""Command lines that are refused, and what is said then."""

import os

import pytest
import torch as th

from main import main


def case(words, *expected, id=None):
    """A command line, and the expected parts of its one message."""
    return pytest.param(words, expected, id=id or " ".join(words[-2:]))


def refused(words, capsys, folder):
    """Run, and return the only message; nothing but the files of before may be there afterwards."""
    before = _everything(folder)
    threads = th.get_num_threads()
    try:
        code = main(words)
    except SystemExit as error:
        code = error.code
    assert th.get_num_threads() == threads
    shown = capsys.readouterr()
    assert code == 2, shown.err
    assert shown.out == ""
    assert "Traceback" not in shown.err
    assert shown.err.count("error:") == 1
    assert shown.err.startswith("error: ")
    assert _everything(folder) == before
    return shown.err


def _everything(folder):
    """All paths in a folder, except for what Python keeps of the plugins that it imports."""
    found = (os.path.join(path, name) for path, folders, names in os.walk(folder) for name in folders + names)
    return sorted(path for path in found if "__pycache__" not in path)
