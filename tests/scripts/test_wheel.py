"""The wheel: one package, which trains, resumes, lists and browses in an empty folder, and takes nobody's names."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from slurm_standin import Cluster

ROOT = Path(__file__).resolve().parents[2]
# it names our modules by PyMARL's paths, and so does the module that it imports from beside it
PLUGIN = """
import modules.mixers
from modules.mixers.vdn import VDNMixer
from mine import registered

@registered("mine")
class Mine(VDNMixer):
    def forward(self, agent_qs, batch):
        from components.episode_buffer import EpisodeBatch
        assert isinstance(batch, EpisodeBatch) or batch is not None
        return super().forward(agent_qs, batch)
"""
BESIDE_IT = """
from envs import REGISTRY as environments
from envs.multiagentenv import MultiAgentEnv
from modules.mixers import REGISTRY

class OwnGame(environments["two_step"]):
    def step(self, actions):
        from utils.errors import ConfigError
        return super().step(actions)

environments["own_game"] = OwnGame

def registered(name):
    def register(mixer):
        REGISTRY[name] = mixer
        return mixer
    return register
"""
FOLDER = """
import envs
import modules.mixers
from modules.mixers.own import own
assert own is envs.REGISTRY and modules.mixers.REGISTRY
"""
NOTEBOOK = """
import sys
import muster
import utils, run
assert utils.whose == run.whose == "the notebook's"
from muster.modules.mixers.vdn import VDNMixer
from muster.utils.own_modules import NAMES, PREFIX
assert PREFIX == "muster."
print(sorted({name.partition(".")[0] for name in sys.modules} & NAMES))
muster.train("vdn", "two_step", t_max=20, test_nepisode=2, quiet=True)
print(muster.load("latest"), sorted({name.partition(".")[0] for name in sys.modules} & NAMES))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built without a package index: by the setuptools that is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    checkout = folder / "checkout"
    checkout.mkdir()
    # the build writes beside its sources
    for place in ("src", "config", "simulators", "docs/tables", "docs/algorithms"):
        shutil.copytree(ROOT / place, checkout / place, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, checkout)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", folder, checkout]
    subprocess.run(command, check=True)
    return next(folder.glob("muster_marl-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """An environment with the wheel, and with this Python's packages after it."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "others.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")))
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--prefix",
        folder,
        "--ignore-installed",
        wheel,
    ]
    subprocess.run(command, check=True)
    script = folder / "bin" / "muster"
    script.write_text(script.read_text().replace(sys.executable, str(folder / "bin" / "python"), 1))
    return folder


def called(installed, folder, *words, program="muster"):
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "MUSTER_COMMAND")}
    environment["PATH"] = f"{installed / 'bin'}{os.pathsep}{environment['PATH']}"
    done = subprocess.run([program, *words], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_version_is_the_same_everywhere():
    files = {
        "src/muster/__init__.py": '__version__ = "(.+)"',
        "CITATION.cff": "version: (.+)",
        "CHANGELOG.md": r"## (\d\S+)",
    }
    found = {re.search(f"^{pattern}", (ROOT / file).read_text(), re.M)[1] for file, pattern in files.items()}
    assert len(found) == 1, found


@pytest.mark.slow
def test_the_wheel_is_one_package_with_its_data(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"muster", "muster_marl"}
    data = "config/default.yaml envs/skirmish/data/maps.json browser/page/assets/muster.js"
    data += " docs/tables/published.yaml docs/algorithms/presets.json"
    for file in (*data.split(), "simulators/c/basic.c", "simulators/python/dots_simulator/__init__.py"):
        assert f"muster/{file}" in names


@pytest.mark.slow
def test_what_is_installed_trains_with_a_plugin_resumes_and_lists(installed, tmp_path):
    (tmp_path / "plugin.py").write_text(PLUGIN)
    (tmp_path / "mine.py").write_text(BESIDE_IT)
    (tmp_path / "folder" / "modules" / "mixers").mkdir(parents=True)
    (tmp_path / "folder" / "__init__.py").write_text(FOLDER)
    (tmp_path / "folder" / "modules" / "mixers" / "own.py").write_text("from envs import REGISTRY as own")
    (tmp_path / "own_game.yaml").write_text("env: own_game\n")
    words = [
        "--config=vdn",
        "--env-config=own_game.yaml",
        "with",
        "mixer=mine",
        "plugins=['plugin.py', 'folder/']",
        "t_max=40",
    ]
    told = called(installed, tmp_path, *words, "runner=parallel", "batch_size_run=2", "test_nepisode=2")
    assert "Next:\n  muster watch latest  plays its best model\n  muster browse        shows its curves" in told
    assert "Finished Training: 6" in called(installed, tmp_path, "resume", "latest", "with", "t_max=60")
    assert "skirmish" in called(installed, tmp_path, "list") and "qmix" in called(installed, tmp_path, "list", "mixer")


@pytest.mark.slow
def test_checkpoints_are_the_same_in_both(installed, tmp_path):
    words = ["--config=vdn", "--env-config=two_step", "with", "test_nepisode=2", "t_max=20"]
    checkout = [sys.executable, str(ROOT / "src" / "main.py")]
    called(installed, tmp_path, *words)
    told = called(installed, tmp_path, *checkout[1:], "--resume=latest", "with", "t_max=40", program=checkout[0])
    assert "Resuming from results/runs/" in told and "other code" not in told
    told = called(installed, tmp_path, "resume", "latest", "with", "t_max=60")
    assert "Resuming from results/runs/" in told and "other code" not in told


GAME = """
import gymnasium
import numpy as np

class Line(gymnasium.Env):
    observation_space, action_space = gymnasium.spaces.Box(-1, 1, (1,)), gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.x += 2 * action - 1
        return np.array([self.x / 3], np.float32), float(self.x), abs(self.x) >= 3, False, {}
"""


@pytest.mark.slow
def test_what_is_installed_starts_other_processes(installed, tmp_path, monkeypatch):
    """SLURM's tasks, collectors, and a simulator that comes with Muster."""
    cluster = Cluster(tmp_path / "cluster")
    # without the checkout, which the stand-in's own runs need
    monkeypatch.setattr(Cluster, "environment", lambda _: {})
    monkeypatch.setenv("PATH", f"{tmp_path / 'cluster' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    text = "algorithms: vdn\nenvironments: two_step\nseeds: 1\nt_max: 20\nsettings: {test_nepisode: 2}\n"
    (tmp_path / "mine.yaml").write_text(text)
    assert "Job 100: 1 run." in called(installed, tmp_path, "suite", "run", "mine.yaml", "--launcher=slurm")
    cluster.run(seconds=120)
    assert "1 of 1 run done" in called(installed, tmp_path, "suite", "status", "mine.yaml")
    assert "tables/mine.json: 1 of 1 run" in called(installed, tmp_path, "suite", "export", "mine.yaml")
    assert "two_step" in called(installed, tmp_path, "suite", "tables")
    words = ["--config=iqn", "--env-config=two_step", "with", "runner=collectors", "collectors.processes=1", "t_max=40"]
    assert "Finished Training" in called(installed, tmp_path, *words, "test_nepisode=2")
    words = ["env_args.executable=simulators/basic.py", "batch_size_run=1", "rollout_steps=16", "t_max=40"]
    told = called(installed, tmp_path, "--config=ppo", "--env-config=dots", "with", *words, "test_nepisode=0")
    assert "Finished Training" in told


@pytest.mark.slow
def test_what_is_installed_knows_its_own_modules_by_their_names_in_the_checkout(installed, tmp_path):
    """As plugins and as functions, which pages name so; and a user's environment by its file."""
    words = ["--config=vdn", "with", "plugins=['envs.probe_plugin']", "env=probe", "t_max=40", "test_nepisode=2"]
    (tmp_path / "probe.yaml").write_text("env: probe\n")
    called(installed, tmp_path, *words[:1], "--env-config=probe.yaml", *words[1:])
    (tmp_path / "line.py").write_text(GAME)
    words = ["--config=ppo", "--env-config=gymnasium", "with", "env_args.key=line.py:Line", "env_args.time_limit=20"]
    called(installed, tmp_path, *words, "t_max=100", "test_nepisode=1")
    called(installed, tmp_path, "--evaluate=latest", "--custom=experiment.recordings:record", "with", "test_nepisode=1")
    assert list(tmp_path.glob("results/recordings/*/recording.json"))


@pytest.mark.slow
def test_a_notebook_keeps_its_own_modules(installed, tmp_path):
    for name in ("utils", "run"):
        (tmp_path / f"{name}.py").write_text('whose = "the notebook\'s"')
    (tmp_path / "notebook.py").write_text(NOTEBOOK)
    before, after = called(installed, tmp_path, "notebook.py", program="python").splitlines()[:2]
    assert before == "['run', 'utils']" and after.endswith("['run', 'utils']") and "vdn" in after


@pytest.mark.slow
@pytest.mark.parametrize("name", ["first_run", "own_environment"])
def test_the_notebooks_run_on_what_is_installed(name, installed, tmp_path, monkeypatch):
    """Their code with fewer steps; tests/docs/test_notebooks.py runs them whole, in the checkout."""
    pytest.importorskip("IPython", reason="requirements-dev.txt is not installed")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    cells = json.loads((ROOT / "examples" / f"{name}.ipynb").read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    (tmp_path / "notebook.py").write_text(re.sub(r"t_max=\w+", "t_max=1500", code))
    called(installed, tmp_path, "notebook.py", program="python")
    assert list((tmp_path / "results" / "runs").iterdir())


@pytest.mark.slow
def test_what_is_installed_serves_the_page(installed, tmp_path):
    pytest.importorskip("dash")
    (tmp_path / "results").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [installed / "bin" / "muster", "browse", "--no-open", f"--port={port}"]
    server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/assets/muster.js") as page:
                    assert page.status == 200
                return
            except OSError:
                assert server.poll() is None and time.monotonic() < deadline
                time.sleep(0.2)
    finally:
        server.kill()
        server.wait()
