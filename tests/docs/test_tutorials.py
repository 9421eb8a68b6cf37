"""The tutorials show the files that they name, in as many lines as they promise, and keys that there are."""

import re
import subprocess
import sys

import pytest

from checks.options import options_of_keys
from standins import ROOT

DOCS = ROOT / "docs"
EXAMPLES = {
    "own_environment": ["lifting.py", "lifting.yaml"],
    "own_learner": ["weighted_team.py", "weighted_team.yaml", "test_weighted_team.py"],
    "paper_figure": ["paper_figure.yaml"],
    "on_a_cluster": ["four_runs.yaml"],
}
LINES = {"lifting.py": 40, "weighted_team.py": 60}


@pytest.mark.parametrize(("page", "file"), [(page, file) for page, files in EXAMPLES.items() for file in files])
def test_the_page_shows_the_file(page, file):
    text = (DOCS / "examples" / file).read_text()
    assert f"\n{text}```" in (DOCS / f"{page}.md").read_text()
    assert text.count("\n") <= LINES.get(file, 60)


def test_the_keys_beside_those_of_other_libraries_exist():
    page = (DOCS / "from_single_agent.md").read_text()
    rows = re.findall(r"^\| .*? \| .*? \| (.*?) \|", page.split("## Hyperparameters")[1].split("\n\n")[2], re.M)
    keys = {word.partition("=")[0] for row in rows[2:] for code in re.findall("`(.*?)`", row) for word in code.split()}
    assert len(keys) > 25
    assert keys <= options_of_keys().keys()


@pytest.mark.slow
def test_one_agent_in_python(tmp_path):
    """The page's program, with fewer steps."""
    pytest.importorskip("gymnasium", reason="requirements-envs.txt is not installed")
    (code,) = re.findall(r"^```python\n(.*?)^```", (DOCS / "from_single_agent.md").read_text(), re.M | re.S)
    short = code.replace('"src"', repr(str(ROOT / "src"))).replace("t_max=100_000", "t_max=2000")
    (tmp_path / "page.py").write_text(short)
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-3000:]
    (trained, evaluated), (played,) = (map(float, line.split()) for line in done.stdout.splitlines())
    assert min(trained, evaluated, played) > 5
