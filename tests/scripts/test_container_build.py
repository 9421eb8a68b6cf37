"""The image, really built, and a battle trained in it: only where MUSTER_CONTAINER_BASE names the base to build on."""

import json
import os
import shutil
import subprocess

import pytest

from standins import ROOT

BASE = os.environ.get("MUSTER_CONTAINER_BASE")

pytestmark = [
    pytest.mark.skipif(
        not BASE or not shutil.which("docker"),
        reason="builds an image: needs docker, and MUSTER_CONTAINER_BASE=<image with Python 3.11>",
    ),
    pytest.mark.timeout(3000),
]
TRAIN = (
    "--config=qmix_fast --env-config=skirmish with env_args.map_name=3m t_max=3000 test_interval=1000 test_nepisode=8"
)


def _script(name, *words, cwd, code=0):
    done = subprocess.run(["bash", str(cwd / name), *words], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_image_is_built_and_trains(tmp_path):
    checkout = tmp_path / "muster"
    shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns(".venv", ".git", ".cache", "results", "3rdparty"))
    _script("docker/build.sh", "cpu", "--build-arg", f"BASE={BASE}", cwd=checkout)
    _script("run.sh", "cpu", "python3", "src/main.py", *TRAIN.split(), cwd=checkout)
    record = json.loads((checkout / "results" / "sacred" / "1" / "run.json").read_text())
    assert record["status"] == "COMPLETED"
    assert (checkout / ".cache" / "muster").is_dir()  # the compiled simulator outlives the container
    assert all(path.lstat().st_uid == os.getuid() for path in (checkout / "results").rglob("*"))
    asked = _script(
        "run.sh", "cpu", *"python3 src/main.py --config=qmix --env-config=sc2".split(), cwd=checkout, code=2
    )
    assert "install_sc2.sh" in asked
