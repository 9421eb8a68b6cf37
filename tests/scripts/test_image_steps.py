"""The Dockerfile's steps, run one after another on a base whose Python belongs to its distribution.

Debian's pip refuses to install into such a Python (PEP 668). docs/container.md reports a real build.
"""

import os
import re
import shutil
import subprocess

import pytest

from standins import ROOT, Checkout

REFUSING_PIP = 'echo "error: externally-managed-environment" >&2; exit 1'
# what `python3 -m venv FOLDER` leaves: the same programs, and a pip that installs
PYTHON = """
if [[ $1 == -m && $2 == venv ]]; then
    mkdir -p "$3/bin"
    cp "${0%/*}/venv-pip" "$3/bin/pip"
    cp "$0" "$3/bin/python3"
fi
"""


class Image(Checkout):
    """Runs the steps of docker/Dockerfile with stand-ins for everything that would reach beyond the test's folder."""

    def __init__(self, folder):
        super().__init__(folder)
        self.root.mkdir()
        os.symlink(shutil.which("grep"), self.bin / "grep")
        self.stand_in("pip", REFUSING_PIP)
        self.stand_in("venv-pip")
        self.stand_in("python3", PYTHON)
        for name in ("apt-get", "bash", "useradd", "chmod", "rm"):
            self.stand_in(name)
        self.opt = folder / "opt"

    def build(self, **arguments):
        text = re.sub(r"\\\n\s*", "", (ROOT / "docker" / "Dockerfile").read_text())
        env = {**self.env, **arguments}
        for word, rest in re.findall(r"^([A-Z]+) (.*)$", text, re.M):
            rest = rest.replace("/opt/", f"{self.opt}/")
            if word == "ENV":
                for key, value in re.findall(r"(\w+)=(\S+)", rest):
                    env[key] = value.replace("$PATH", env["PATH"])
            elif word == "COPY":
                *names, _ = rest.split()
                for name in names:
                    shutil.copy(ROOT / name, self.root)
            elif word == "RUN":
                command = ["/bin/bash", "-o", "pipefail", "-c", rest]
                subprocess.run(command, cwd=self.root, env=env, check=True, timeout=60, stdin=subprocess.DEVNULL)
        return env


@pytest.mark.parametrize(("index", "options"), [("", []), ("https://index/cpu", ["--index-url", "https://index/cpu"])])
def test_every_step_passes_where_pip_refuses_the_python_of_the_distribution(tmp_path, index, options):
    image = Image(tmp_path)
    env = image.build(TORCH_INDEX=index)
    of_torch, of_others = (call[1:] for call in image.calls("pip"))
    pinned = re.search("^torch==.*", (ROOT / "requirements.txt").read_text(), re.M)[0]
    assert of_torch == ["install", "--no-cache-dir", *options, pinned]
    assert of_others[-4:] == ["-r", "requirements.txt", "-r", "requirements-envs.txt"]
    # smac goes to the same Python, which is also the one that `bash run.sh cpu python3 ...` finds
    assert image.calls("bash") == [["bash", "install_sc2.sh", "--packages-only", "--python", "python3"]]
    assert shutil.which("python3", path=env["PATH"]) == str(image.opt / "muster" / "bin" / "python3")
