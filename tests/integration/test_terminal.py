"""The first commands of the pages as a user at a terminal sees them, line by line."""

import re
import subprocess
import sys

import pytest

from terminals import ROOT, Typed, lines_of, on_a_terminal

pytestmark = pytest.mark.slow

NARROW, WIDE = 80, 150
PAGES = "\n".join((ROOT / page).read_text() for page in ("README.md", "docs/first_run.md"))
# the pages', but for a moment
SHORT = ["t_max=450", "test_interval=150", "log_interval=200", "test_nepisode=4"]


def _shortened(pattern, *more):
    """The words of the first command line of this form on the pages, for a moment."""
    command = re.findall(rf"(?m)^\./muster ({pattern})", PAGES)[0]
    words = command.replace("\\\n", " ").split()
    changes = [*SHORT, *more]
    changed = {word.partition("=")[0] for word in changes}
    return [*(word for word in words if word.partition("=")[0] not in changed), *changes]


@pytest.fixture(scope="module")
def first_runs(tmp_path_factory):
    """`make train`, which a page repeats, on a narrow terminal, and `two_step` on a wide one: output and record."""
    words = {
        NARROW: _shortened(r"--config=mappo(?:.*\\\n)+.*", "batch_size_run=4", "rollout_steps=10"),
        WIDE: _shortened(".*--env-config=two_step.*", "batch_size=16"),
    }
    folders = {width: tmp_path_factory.mktemp(f"columns_{width}") for width in words}
    typed = {width: Typed(words[width], folder, columns=width) for width, folder in folders.items()}
    return {
        width: (*typed[width].end(), (folder / "results" / "sacred" / "1" / "cout.txt").read_text())
        for width, folder in folders.items()
    }


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_a_run_fits_the_terminal(first_runs, width):
    """Sacred stands between a run and the terminal; what numba's colours kept of it broke at exit."""
    code, shown, _ = first_runs[width]
    assert code == 0, shown
    assert "Traceback" not in shown and "Exception ignored" not in shown
    assert [line for line in lines_of(shown) if len(line) > width] == []


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_statistics_stand_in_whole_columns(first_runs, width):
    lines = [line.rstrip() for line in lines_of(first_runs[width][1])]
    (start, *_) = [i for i, line in enumerate(lines) if "Recent Stats" in line]
    block = []
    for line in lines[start + 1 :]:
        if not re.fullmatch(r"(\w+( @\d+)?: +-?[\d.]+(   )?)+", line):
            break
        block.append(line)
    names = re.findall(r"(\w+)(?: @\d+)?:", " ".join(block))
    assert names == sorted(names)
    assert {"return_mean", "test_return_mean", {NARROW: "entropy", WIDE: "epsilon"}[width]} <= set(names)
    assert ("test_battle_won_mean" in names) == (width == NARROW)
    assert len({len(line) for line in block[:-1]}) == 1
    assert block[0].count(":") == {NARROW: 2, WIDE: 4}[width]


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_the_bar_is_long_enough_to_be_read(first_runs, width):
    bars = [line for line in lines_of(first_runs[width][1]) if "steps/s" in line]
    assert len(bars) > 3
    assert min(len(re.search(r"\|(.*)\|", bar)[1]) for bar in bars) >= 10
    assert all({NARROW: "test won=", WIDE: "test return="}[width] in bar for bar in bars[-3:])


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_the_record_has_plain_lines_of_the_same_form_at_any_width(first_runs, width):
    record = first_runs[width][2]
    assert "steps/s" not in record
    (first, *_) = re.findall(r"Recent Stats .*\n((?:\w+(?: @\d+)?:.*\n)+)", record)
    assert first.split("\n")[0].count("\t") == 3
    if width == NARROW:
        assert re.search(r"Saving models to results/models/\S+/\d+\n", record)


@pytest.mark.parametrize(("word", "width"), [("--list", NARROW), ("--list", WIDE), ("--help", NARROW)])
def test_pages_fit_the_terminal(tmp_path, word, width):
    code, shown = on_a_terminal([word], tmp_path, columns=width)
    assert code == 0
    assert [line for line in lines_of(shown) if len(line) > width] == []


def test_a_refusal_is_broken_between_words(tmp_path):
    code, shown = on_a_terminal(["--config=qmix", "--env-config=two_stpe"], tmp_path)
    assert code == 2
    assert [line for line in lines_of(shown) if len(line) > 80] == []
    assert "skirmish" in " ".join(lines_of(shown)).split("Allowed:")[1].replace(",", "").split()


@pytest.mark.parametrize(
    "words", [["--list"], ["print_config", "--config=qmix", "--env-config=two_step"]], ids=" ".join
)
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path, words):
    command = [sys.executable, str(ROOT / "src" / "main.py"), *words]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 0
