"""`suite.py export --models FOLDER`: the best models of a suite's runs, small, to keep and to give away."""

import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from checkpoints.model_manifests import add_manifest, require_intact
from records.best_model import RankedModel, best_of, recorded_best
from records.find_run import FoundRun
from records.layout import BEST, CONFIG, MANIFEST
from suites.state.runs import DONE, SuiteRun
from suites.state.state import SuiteFolder
from utils.errors import ConfigError
from utils.files.folders import replace_folder
from utils.plain_values import counted

# an optimiser's numbers are as many again, or twice; training continues without them
OPTIMISERS = "*opt.th"
# keys that say where a run was, what it reported to, and what made it
OF_THE_PLACE = (
    "local_results_path", "run_name", "on_end", "mongo_url", "checkpoint_path", "load_step", "resume", "label",
)  # fmt: skip


def export_models(folder: SuiteFolder, target: Path) -> None:
    """Copy the best model of each setting, over its seeds, with its config, into `target`.

    A model is named by what settings differ in: by its map, if they differ in nothing else.

    Raises:
        ConfigError: no run that is done has a model, or a file cannot be read or written.
    """
    newest = folder.newest()
    done = [run for run in folder.runs() if run.id in newest and newest[run.id].state == DONE]
    best: dict[str, tuple[RankedModel, FoundRun]] = {}
    names = _names(done)
    for run in done:
        found = FoundRun(folder.results, newest[run.id].token)
        model, name = best_of(found.models), names[run.id]
        if model is not None and (name not in best or model.rank > best[name][0].rank):
            best[name] = model, found
    if not best:
        raise ConfigError(f"No run of {folder.name} that is done has a tested model.")
    try:
        if not target.exists():
            target.mkdir(parents=True)
            target.chmod(0o755)
        sizes = [_copy(found, target / name) for name, (_, found) in best.items()]
    except OSError as error:
        raise ConfigError(f"{target}: the models cannot be written ({error.strerror or error}).") from None
    for name, (model, _) in best.items():
        print(f"{target / name}: {model}, after {model.step:,} steps")
    print(f"{target}: {counted(len(best), 'model')}, {sum(sizes) / 2**20:.1f} MiB")


def _names(runs: Iterable[SuiteRun]) -> dict[str, str]:
    """The name of each run's model, by the run's id: what it has on the axes, but the seed's, on which runs differ."""
    axes = {run.id: {key: value for key, value in run.axes.items() if key != "seed"} for run in runs}
    values = {key: {str(one[key]) for one in axes.values()} for one in axes.values() for key in one}
    differing = [key for key, found in values.items() if len(found) > 1] or ["algorithm"]
    return {run: _plain("-".join(str(one[key]) for key in differing if key in one)) for run, one in axes.items()}


def _plain(name: str) -> str:
    """A name for a folder: of the map `[3m]` that is `3m`."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.")


def _copy(found: FoundRun, target: Path) -> int:
    """Copy a run's best model without its optimisers; returns bytes."""
    source = recorded_best(found.models / BEST)
    assert source is not None  # `best_of` has read it
    require_intact(source[0])
    unfinished = target.with_name(f"{target.name}.tmp")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(source[0], unfinished / BEST, ignore=shutil.ignore_patterns(OPTIMISERS, MANIFEST))
    add_manifest(unfinished / BEST)
    config = {key: value for key, value in found.config().items() if key not in OF_THE_PLACE}
    (unfinished / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    for path in (unfinished, *unfinished.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)  # they are made to be given away
    replace_folder(unfinished, target)
    return sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
