"""Text on a terminal of a given width."""

import io

import pytest

from utils.console import fitted, terminal_width


def test_lines_that_fit_and_streams_that_are_no_terminal_stay_as_they_are(tmp_path):
    text = "short\n  " + "x" * 10
    assert fitted(text, 20) == text
    assert fitted("x " * 100, None) == "x " * 100
    with open(tmp_path / "file", "w") as file:
        assert terminal_width(file) is None
    assert terminal_width(io.StringIO()) is None
    assert terminal_width(None) is None


@pytest.mark.parametrize("width", [20, 31, 40])
def test_no_word_is_lost_or_broken(width):
    text = "error: " + " ".join("word" * (i % 4) + "end" for i in range(60))
    broken = fitted(text, width)
    assert broken.split() == text.split()
    assert max(map(len, broken.split("\n"))) <= width
    assert all(line.startswith("  ") for line in broken.split("\n")[1:])


def test_a_description_stays_in_its_column():
    assert fitted("  name   one two three four", 20) == "  name   one two\n         three four"


def test_a_path_stays_whole():
    path = "results/models/" + "x" * 40
    assert fitted(f"Saving models to {path}", 30) == f"Saving models to\n  {path}"
