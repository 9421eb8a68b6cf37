"""What a launcher shows on a terminal, on which others print, too."""

import io
import re

import pytest

from suite_children import folder_in, runs_of
from suites.command import progress as suite_progress
from suites.command.progress import Progress
from suites.state.state import Attempt


class Screen(io.StringIO):
    """A terminal: what was printed, and what that shows."""

    def isatty(self):
        return True

    @property
    def lines(self):
        rows, row, column = [""], 0, 0
        for piece in re.findall(r"\x1b\[[AJ]|\r|\n|[^\x1b\r\n]+", self.getvalue()):
            if piece == "\x1b[A":
                row -= 1
            elif piece == "\x1b[J":
                rows[row:] = [rows[row][:column]]
            elif piece == "\r":
                column = 0
            elif piece == "\n":
                row, column = row + 1, 0
                rows += [""] * (row == len(rows))
            else:
                rows[row] = rows[row][:column].ljust(column) + piece + rows[row][column + len(piece) :]
                column += len(piece)
        return [line.rstrip() for line in rows]


@pytest.fixture
def shown(tmp_path, monkeypatch):
    monkeypatch.setattr(suite_progress, "REDRAW", 0.0)
    screen, runs = Screen(), runs_of(3)
    return screen, runs, Progress(folder_in(tmp_path), runs, screen, len(runs))


def test_a_line_of_another_process_stands_alone(shown):
    screen, runs, progress = shown
    running = {runs[0].id: Attempt(runs[0].id, 1)}
    status = "0/3 done · 1 running · 2 waiting · 0 % of the steps"
    with progress:
        progress.report(running[runs[0].id])
        progress.look(running)
        assert screen.lines == ["[1/3] run-0: started", "", status]
        screen.write("Compiling Skirmish\n")
        assert screen.lines[1] == "Compiling Skirmish"
        progress.look(running)
        assert screen.lines == ["[1/3] run-0: started", "Compiling Skirmish", "", status]
        progress.say("another line")
        assert screen.lines[2:] == ["another line", "", status]
    assert screen.lines == ["[1/3] run-0: started", "Compiling Skirmish", "another line", ""]
