"""Recording what a trained model plays, for `--custom`."""

from pathlib import Path
from typing import Any

from experiment.data_recording import DataRecorder, fields_of
from experiment.loaded_run import LoadedRun
from records.layout import RECORDINGS


def record(run: LoadedRun) -> dict[str, Any]:
    """Play `test_nepisode` test episodes and record their steps under `recordings/`.

    It is a function for `--custom` (docs/runs.md): `--evaluate=RUN --custom=experiment.recordings:record`.
    """
    folder = Path(run.args.local_results_path, RECORDINGS, run.args.unique_token)
    if folder.exists():
        raise FileExistsError(f"{folder} exists already")
    recorder = DataRecorder(folder, fields_of(run.runner), run.scheme, run.args.env, run.args.env_args)
    for batch in run.play():
        recorder.take(batch)
    recorder.close()
    episodes, steps = recorder.written
    return {"folder": str(folder), "steps": steps - episodes, "episodes": episodes}
