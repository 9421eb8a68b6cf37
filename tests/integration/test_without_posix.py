"""A run, its checkpoints and its worker processes without what only POSIX systems have, as on Windows."""

import os
import subprocess
import sys

import pytest

from standins import ROOT

pytestmark = pytest.mark.slow

# read by every Python process at its start, the environments' included
SITE = """
import os, signal, sys

for name in "fork geteuid getegid getgid killpg setpgid setsid memfd_create O_NOFOLLOW O_NONBLOCK statvfs".split():
    if hasattr(os, name):
        delattr(os, name)
for name in "SIGUSR1 SIGHUP SIGALRM pthread_sigmask setitimer".split():
    if hasattr(signal, name):
        delattr(signal, name)
for name in "fcntl resource pwd grp termios".split():
    sys.modules[name] = None
anything = os.open


def only_files(path, *arguments, **options):
    if not isinstance(path, int) and os.path.isdir(path):
        raise PermissionError(13, "Permission denied", str(path))
    return anything(path, *arguments, **options)


os.open = only_files
"""
TWO_SESSIONS = """
from main import main

if __name__ == "__main__":
    small = "t_max=40 test_nepisode=2 checkpoint_interval=20 runner=parallel batch_size_run=2 env_transport=pipe seed=1"
    code = main(["--config=qmix", "--env-config=two_step", "with", *small.split()])
    raise SystemExit(code or main(["--resume=latest", "with", "t_max=80"]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="takes away what Linux has")
def test_a_run_needs_nothing_that_only_posix_systems_have(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(SITE)
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'src'}"}

    done = subprocess.run(
        [sys.executable, "-c", TWO_SESSIONS], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Finished Training") == 2
    assert "cannot" not in done.stdout
