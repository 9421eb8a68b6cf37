"""The shell scripts and the Dockerfile pass their linters, and what they name is there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from standins import ROOT

SCRIPTS = [".ci/run", "docker/build.sh", "install_sc2.sh", "muster", "run.sh"]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()


def lint(program, *words):
    """Run a linter of requirements-dev.txt, which is beside the Python that runs the tests."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    found = shutil.which(program, path=path)
    assert found, f"{program} is not installed: pip install -r requirements-dev.txt"
    done = subprocess.run([found, *words], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("script", SCRIPTS)
def test_shell_scripts_are_clean(script):
    lint("shellcheck", script)
    text = (ROOT / script).read_text()
    assert "set -euo pipefail" in text
    assert os.access(ROOT / script, os.X_OK)


def test_every_script_is_looked_at():
    found = {str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.sh"), *ROOT.glob("docker/*.sh")]}
    assert found <= set(SCRIPTS)


def test_the_dockerfile_is_clean():
    lint("hadolint", "docker/Dockerfile")


def test_files_that_the_dockerfile_copies_exist_and_are_let_through():
    copied = {name for line in re.findall(r"^COPY (.*)", DOCKERFILE, re.M) for name in line.split()[:-1]}
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignore
    assert copied == {line.removeprefix("!") for line in ignore if line.startswith("!")}
    assert all((ROOT / name).is_file() for name in copied)


def test_the_container_is_not_root():
    assert re.findall(r"^USER (.*)", DOCKERFILE, re.M) == ["1000"]
