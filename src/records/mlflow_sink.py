"""Statistics in MLflow, into files by default."""

import logging
import os
import re
from pathlib import Path
from typing import Any

from records.sinks import Attachment, ServiceSink, Value
from utils.config.merging import flatten

INSTALL = "pip install -r requirements-mlflow.txt"
# of MLflow: parameters in one call, characters of a parameter
_PARAMETERS, _LONGEST = 100, 6000


def _prepare_environment() -> None:
    """Settings that MLflow reads from the environment; the user's own stay."""
    for name, value in {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        # MLflow refuses its file store otherwise, which needs neither a server nor a database
        "MLFLOW_ALLOW_FILE_STORE": "true",
        # a server that does not answer delays training for that number of seconds, once in a while
        "MLFLOW_HTTP_REQUEST_TIMEOUT": "3",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    }.items():
        os.environ.setdefault(name, value)


def _permitted(name: str) -> str:
    """A name in the characters that MLflow permits."""
    return re.sub(r"[^\w. :/-]", "_", name, flags=re.ASCII)


class MlflowSink(ServiceSink):
    """A run of MLflow in a file store in `folder`, or at the address `uri`; a missing `experiment` is created."""

    name = "mlflow"

    def __init__(
        self, folder: str, token: str, config: dict[str, Any], *, uri: str, experiment: str, console: logging.Logger
    ):
        super().__init__("MLflow", console)
        self._folder, self._token, self._config = folder, token, config
        self._uri, self._experiment = uri, experiment
        self._client: Any = None
        self._run_id = ""

    def _begin(self) -> None:
        _prepare_environment()
        from mlflow import MlflowClient
        from mlflow.entities import Param

        self._client = MlflowClient(tracking_uri=self._uri or Path(self._folder).absolute().as_uri())
        if not self._run_id:  # else the run is there, and its parameters were not taken
            found = self._client.get_experiment_by_name(self._experiment)
            experiment = found.experiment_id if found else self._client.create_experiment(self._experiment)
            tags = {"token": self._token, **({"continues": self.continues} if self.continues else {})}
            self._run_id = self._client.create_run(experiment, run_name=self._token, tags=tags).info.run_id
        flat = flatten(self._config)
        parameters = [Param(_permitted(key), str(value)[:_LONGEST]) for key, value in flat.items()]
        for i in range(0, len(parameters), _PARAMETERS):
            self._client.log_batch(self._run_id, params=parameters[i : i + _PARAMETERS])

    def _id(self) -> str:
        return self._run_id

    def _deliver(self, values: list[Value]) -> None:
        from mlflow.entities import Metric

        metrics = [Metric(_permitted(key), value, int(1000 * at), step) for key, value, step, at in values]
        self._client.log_batch(self._run_id, metrics=metrics)

    def _attach(self, attachment: Attachment) -> None:
        if attachment.kind == "model":
            self._client.log_artifacts(self._run_id, str(attachment.path), artifact_path=f"models/{attachment.name}")
        else:
            self._client.log_artifact(self._run_id, str(attachment.path), artifact_path=f"{attachment.kind}s")

    def _end(self, finished: bool) -> None:
        self._client.set_terminated(self._run_id, "FINISHED" if finished else "FAILED")
