"""The site that `make docs` builds: every page is in its contents, and every link leads somewhere."""

import re
import subprocess
import sys

import pytest

from standins import ROOT
from utils.config.merging import config_names, parameter_names

pytestmark = pytest.mark.slow


def test_the_site_is_built_without_a_warning(tmp_path):
    pytest.importorskip("sphinx", reason="requirements-docs.txt is not installed")
    command = [sys.executable, ROOT / "docs" / "site" / "build.py", tmp_path / "site"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    page = (tmp_path / "site" / "algorithms" / "mappo_rware.html").read_text()
    assert "rollout_steps" in page and "mappo_rware.png" in page and "clipped" in page
    index = (tmp_path / "site" / "algorithms" / "index.html").read_text()
    assert {*config_names("algs"), *parameter_names()} <= set(re.findall(r'href="(\w+)\.html"', index))
