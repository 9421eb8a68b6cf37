"""Stand-ins of Weights & Biases and MLflow, by their documented calls."""

from collections import defaultdict
from pathlib import Path
from types import ModuleType, SimpleNamespace


class Wandb(ModuleType):
    """As much of wandb as is used: runs are kept in `runs`; while `broken`, every call of a run fails."""

    def __init__(self, folder=None):
        super().__init__("wandb")
        self.folder = folder
        self.runs, self.broken, self.logged_in = [], False, False

    def Settings(self, **settings):
        return settings

    def login(self, prompt=True, verify=True):
        # wandb would wait for an answer at the terminal, and raise where its server cannot be reached
        assert not prompt
        assert not verify
        return self.logged_in

    def init(self, **arguments):
        self.check()
        run = SimpleNamespace(
            id=f"run{len(self.runs)}", arguments=arguments, rows=[], metrics=[], exit_code=None, dir=self.folder
        )
        run.define_metric = lambda name, step_metric=None: run.metrics.append((name, step_metric))
        run.finish = lambda exit_code: setattr(run, "exit_code", exit_code)

        def log(row):
            self.check()
            run.rows.append(row)

        run.log = log
        run.artifacts = []

        def log_artifact(artifact):
            self.check()
            run.artifacts.append(artifact)

        run.log_artifact = log_artifact
        self.runs.append(run)
        return run

    def Artifact(self, name, type, metadata):
        assert all(c.isalnum() or c in "_-." for c in name) and len(name) <= 128, name
        made = SimpleNamespace(name=name, type=type, metadata=metadata, files=[])
        made.add_dir = lambda path: made.files.extend(sorted(file.name for file in Path(path).iterdir()))
        return made

    def Video(self, path, format):
        return "video", format, Path(path).read_bytes()[:6]

    def Html(self, text, inject):
        return "page", inject, text

    def check(self):
        if self.broken:
            raise ConnectionError("no answer")

    def values(self, run):
        """{statistic: [(step, value), ...]} of a run."""
        found = defaultdict(list)
        for row in self.runs[run].rows:
            for key in row.keys() - {"t_env"}:
                found[key].append((row["t_env"], row[key]))
        return dict(found)


class Mlflow(ModuleType):
    """As much of mlflow as is used; a faulty name or a batch that is too long is refused, as MLflow does."""

    def __init__(self):
        super().__init__("mlflow")
        self.runs, self.experiments, self.uri, self.broken = [], {}, None, False
        self.MlflowClient = self
        self.entities = ModuleType("mlflow.entities")
        self.entities.Metric = lambda key, value, timestamp, step: (key, step, value)
        self.entities.Param = lambda key, value: (key, value)

    def __call__(self, tracking_uri):
        self.uri = tracking_uri
        return self

    def get_experiment_by_name(self, name):
        if self.broken:
            raise ConnectionError("no answer")
        return SimpleNamespace(experiment_id=self.experiments[name]) if name in self.experiments else None

    def create_experiment(self, name):
        return self.experiments.setdefault(name, str(len(self.experiments)))

    def create_run(self, experiment, run_name, tags):
        made = SimpleNamespace(
            name=run_name, experiment=experiment, tags=tags, metrics=[], params={}, status=None, artifacts={}
        )
        made.info = SimpleNamespace(run_id=str(len(self.runs)))
        self.runs.append(made)
        return made

    def log_batch(self, run_id, metrics=(), params=()):
        if self.broken:
            raise ConnectionError("no answer")
        assert len(metrics) <= 1000 and len(params) <= 100
        for name, *_ in (*metrics, *params):
            assert all(c.isalnum() or c in "_-. :/" for c in name), name
        run = self.runs[int(run_id)]
        run.metrics += metrics
        run.params |= dict(params)

    def log_artifacts(self, run_id, local_dir, artifact_path):
        for file in sorted(Path(local_dir).iterdir()):
            self.log_artifact(run_id, file, artifact_path)

    def log_artifact(self, run_id, local_path, artifact_path):
        if self.broken:
            raise ConnectionError("no answer")
        self.runs[int(run_id)].artifacts[f"{artifact_path}/{Path(local_path).name}"] = Path(local_path).read_bytes()

    def set_terminated(self, run_id, status):
        self.runs[int(run_id)].status = status

    def values(self, run):
        found = defaultdict(list)
        for key, step, value in self.runs[run].metrics:
            found[key].append((step, value))
        return dict(found)
