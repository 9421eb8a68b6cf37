"""Help and list: what they show, and how little they load."""

import subprocess
import sys
from pathlib import Path

from checks.registries import REGISTRIES
from cli.help import HELP
from cli.listing import listing
from utils.config import config_names

MAIN = Path(__file__).resolve().parents[2] / "src" / "main.py"


def test_every_choice_is_listed_on_an_aligned_line_with_a_description():
    lines = [line for line in listing().splitlines() if line.startswith("  ")]
    column = {len(line) - len(line[2:].split(maxsplit=1)[1]) for line in lines}
    assert len(column) == 1
    names = [line.split()[0] for line in lines]
    for name in [*config_names("algs"), *config_names("envs"), *(n for r in REGISTRIES.values() for n in r)]:
        assert name in names


def test_help_is_a_screenful_with_four_examples():
    assert len(HELP.splitlines()) <= 40
    assert HELP.count("  python src/main.py") == 5, "the form, and four examples"
    assert max(map(len, HELP.splitlines())) <= 120


def test_no_arguments_print_the_help(tmp_path):
    done = subprocess.run([sys.executable, str(MAIN)], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, HELP, "")


def test_pages_load_neither_torch_nor_sacred():
    code = "import sys; sys.path.insert(0, 'src'); from main import main; main(['--list']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=MAIN.parents[1], capture_output=True, text=True)
    loaded = done.stdout.splitlines()[-1]
    assert "'cli.listing'" in loaded
    for heavy in ("'torch'", "'sacred'", "'gymnasium'", "'cloudpickle'"):
        assert heavy not in loaded


def test_a_reader_that_has_seen_enough_is_no_error():
    listing_process = subprocess.Popen(
        [sys.executable, str(MAIN), "--list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    listing_process.stdout.close()  # as `| head -0` does
    assert listing_process.stderr.read() == b""
    assert listing_process.wait(timeout=30) == 0
