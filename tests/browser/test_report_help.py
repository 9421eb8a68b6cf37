"""`report.py --help` works before its packages are installed."""

import subprocess
import sys

from standins import ROOT

CODE = """
import sys


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("scipy", "plotly", "matplotlib"):
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Absent())
import report

sys.exit(report.main(sys.argv[1:]))
"""


def report(*words):
    command = [sys.executable, "-c", CODE, *words]
    return subprocess.run(command, cwd=ROOT / "src", capture_output=True, text=True)


def test_help_without_the_packages():
    done = report("--help")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("usage: report.py")
    done = report("nowhere")
    assert done.returncode == 2 and "requirements-browser.txt" in done.stderr
