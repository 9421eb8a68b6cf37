"""The site that `make docs` builds: every page is in its contents, and every link leads somewhere."""

import re
import subprocess
import sys

import pytest

from standins import ROOT
from utils.config.merging import config_names, parameter_names

sys.path.append(str(ROOT / "docs" / "site"))

pytestmark = pytest.mark.slow


def test_the_site_is_built_without_a_warning(tmp_path):
    """With pages of a few presets; test_preset_pages.py has all, without Sphinx."""
    pytest.importorskip("sphinx", reason="requirements-docs.txt is not installed")
    names = [*config_names("algs"), *parameter_names()]
    presets = {"mappo_rware", "qmix", "sac", "enn_ppo", "digideep_ddpg"}
    command = [sys.executable, ROOT / "docs" / "site" / "build.py", tmp_path / "site", *presets]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    page = (tmp_path / "site" / "algorithms" / "mappo_rware.html").read_text()
    assert "rollout_steps" in page and "mappo_rware.png" in page and "clipped" in page
    index = (tmp_path / "site" / "algorithms" / "index.html").read_text()
    assert presets <= set(re.findall(r'href="(\w+)\.html"', index))
    assert all(f"<p>{name}</p>" in index or f">{name}<" in index for name in names)
