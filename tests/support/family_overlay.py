"""A copy of src/ with files of the PyMARL family in it, and runs of it, each in its own process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

from family_cases import REGISTERED, REPLACED, TRAITS, Case
from utils.config.merging import default_config, recursive_dict_update

ROOT = Path(__file__).resolve().parents[2]
# what a test decides for every run
LOOP = {
    "t_max": 120,
    "batch_size_run": 4,
    "batch_size": 4,
    "buffer_size": 4,
    "runner": "parallel",
    "envs_per_worker": 4,
    "test_nepisode": 4,
    "test_interval": 100,
    "log_interval": 50,
    "runner_log_interval": 1,
    "learner_log_interval": 1,
    "save_model": True,
    "save_model_interval": 1,
    "checkpoint_minutes": 0,
    "use_cuda": False,
    "seed": 1,
}
ENVIRONMENT = {"env": "meeting", "env_args": {"length": 5, "episode_limit": 10}}
PROGRAM = """
import json, sys
from types import SimpleNamespace
from run import run
record = SimpleNamespace(info={}, _id=None, log_scalar=lambda *_: None)
run(json.loads(sys.argv[1]), sacred_run=record)
print("\\n" + json.dumps({key: values for key, values in record.info.items() if isinstance(values, list)}))
"""


def overlay(folder: Path, family: Path, case: Case) -> Path:
    """Make `folder`/src of our files and those of the case; returns a plugin that registers them.

    A file whose path we have, too, gets a new name, except for those that take ours' place.
    """
    _link(ROOT / "src", folder / "src")
    lines = []
    for path in case.paths():
        target = Path(f"{path}.py")
        place = folder / "src" / target
        if path in REPLACED:
            place.unlink()
        elif place.exists():
            target = target.with_stem(f"{family.name}_{target.stem}")
            place = folder / "src" / target
        place.parent.mkdir(exist_ok=True, parents=True)
        place.symlink_to(family / "src" / f"{path}.py")
        if path in REGISTERED[case.family]:
            name, attribute = REGISTERED[case.family][path]
            kind = kind_of(path)
            module = ".".join(target.with_suffix("").parts)
            lines.append(f"import {module}, {kind}\n")
            if name in TRAITS and case.family == "pymarl2":
                arguments = f"{name!r}, {module}.{attribute}, 'of the family', **{TRAITS[name]!r}"
                lines.append(f"{kind}.REGISTRY.declare({arguments})\n")
            else:
                lines.append(f"{kind}.REGISTRY[{name!r}] = {module}.{attribute}\n")
    plugin = folder / "family_parts.py"
    plugin.write_text("".join(lines))
    return plugin


def kind_of(path: str) -> str:
    """The package whose registry a file's class enters."""
    folders = path.split("/")[:-1]
    return ".".join(folders[: 2 if folders[0] == "modules" else 1])


def _link(source: Path, target: Path) -> None:
    """Real folders, to put files into, of links to files."""
    target.mkdir(parents=True)
    for path in source.iterdir():
        if path.is_dir() and path.name != "__pycache__":
            _link(path, target / path.name)
        elif path.is_file():
            (target / path.name).symlink_to(path)


def family_config(family: Path, case: Case) -> dict:
    """The family's preset over its default.yaml over ours, and what a test decides."""

    def read(file: str) -> dict:
        return yaml.safe_load((family / "src" / "config" / file).read_text())

    learners = [REGISTERED[case.family][path][0] for path in case.paths() if path.startswith("learners/")]
    config = default_config()
    for file in ("default.yaml", f"algs/{case.preset}.yaml"):
        # where runs are recorded is not the families' matter: EPyMARL's wandb_project is null, ours a name
        recursive_dict_update(config, {key: value for key, value in read(file).items() if "wandb" not in key})
    environment = read(f"envs/{case.env}.yaml") if case.env else ENVIRONMENT
    if "env" in case.changes:
        environment = {}
    config["env_args"] = {}
    for layer in (environment, LOOP, {"learner": learners[0]} if learners else {}, case.changes):
        recursive_dict_update(config, layer)
    return config


def run_overlay(folder: Path, plugins: list[Path], config: dict) -> dict[str, list[float]]:
    """Train; returns every statistic with its values. Models are under `folder`/results.

    Raises:
        AssertionError: the run failed; with the end of its output.
    """
    config = {**config, "plugins": [str(plugin) for plugin in plugins], "local_results_path": str(folder / "results")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(config)],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=200,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder / "src"), os.environ.get("PYTHONPATH", "")]),
            "OMP_NUM_THREADS": "1",
            "PYTHONWARNINGS": "ignore",
        },
    )
    assert done.returncode == 0, "\n".join(done.stderr.splitlines()[-12:])
    return json.loads(done.stdout.splitlines()[-1])
