"""Values of Python files that are not run."""

import ast
import math
import re

import pytest

from utils.config.python_values import values_of

TEXT = """
from numpy import *
import os

a = 3_000 * 2 // 4
b: float = -1 / 4
names = ["A01-Race", "B02-Race"]
inputs = [{"left": False}, {"left": not False}]
cycle = []
for name in names:
    short = name[0:3]
    cycle.append(repeat((short, f'"maps/{name}.Gbx"', True), 2))
cycle += [(names[0][-4:],)]
s = np.float32(0.5) + math.sqrt(4) + np.inf
c = d = (1, None)
"""


def test_numbers_texts_lists_and_loops_over_them():
    known, unknown = values_of(ast.parse(TEXT))
    assert not unknown
    assert (known["a"], known["b"], known["s"], known["d"]) == (1500, -0.25, math.inf, [1, None])
    assert known["inputs"] == [{"left": False}, {"left": True}]
    assert known["cycle"] == [
        [["A01", '"maps/A01-Race.Gbx"', True]] * 2,
        [["B02", '"maps/B02-Race.Gbx"', True]] * 2,
        ["Race"],
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = 1\nif a:\n    a = 2", "'if a:.*needs the file to run"),
        ("a = open('harmed', 'w')", "the function 'open' needs the file to run"),
        ("a = [1]\na.append(b)", "'b' needs the file to run"),
        ("a = 1 / 0", "division by zero"),
        ("a = 9 ** 9 ** 9", "is too large"),
        ("a = 'x' * 10 ** 9", "is too large"),
        ("a = [1]\nfor k in [1, 2]:\n    a += [other]", "'other' needs the file to run"),
        ("a = [0][5]", "index"),
        ("a = lambda: 1", "needs the file to run"),
        ("a = 1\ndel a", "needs the file to run"),
        ("a = 1\na.x = 2\n", "'a.x = 2' needs"),
        ("a = [1]\na[0] = 2", "needs the file to run"),
        ("a = [1]\nb = a.pop()", "a.pop"),
        ("def a():\n    return 1", "needs the file to run"),
    ],
)
def test_what_needs_the_file_to_run_is_named_with_its_line(tmp_path, monkeypatch, text, reason):
    monkeypatch.chdir(tmp_path)
    known, unknown = values_of(ast.parse(text))
    line, found = unknown["a"]
    assert 1 <= line <= text.count("\n") + 1 and re.search(reason, found, re.DOTALL)
    assert "a" not in known
    assert not list(tmp_path.iterdir())
