"""Statistics in Weights & Biases, into files by default."""

import logging
import os
import re
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

from records.layout import MODELS
from records.sinks import Attachment, ServiceSink, Value

PROJECT = "muster"
INSTALL = "pip install -r requirements-wandb.txt"


def _import_wandb() -> ModuleType:
    # without it, the package reports its errors to its makers
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    import wandb

    return wandb


def has_credentials() -> bool:
    """Whether `wandb login` was run, or WANDB_API_KEY is set; asks neither the user nor the server."""
    return bool(_import_wandb().login(prompt=False, verify=False))


class WandbSink(ServiceSink):
    """A run of Weights & Biases, in which the curves are drawn over the statistic `t_env`.

    Sessions of a resumed run are one group of the name `token`; offline runs are written into wandb/ in `folder`.

    Args:
        project, team: null or empty: "muster", and the user who is logged in.
        save_model: keep saved models among the run's files, as models/<token>/<step>/.
    """

    name = "wandb"

    def __init__(
        self,
        folder: str,
        token: str,
        config: dict[str, Any],
        *,
        project: str | None,
        team: str | None,
        mode: str,
        save_model: bool = False,
        console: logging.Logger,
    ):
        super().__init__("Weights & Biases", console)
        self._folder, self._token = folder, token
        self._save_model, self._models = save_model, list[Path]()
        self._arguments = {"project": project or PROJECT, "entity": team or None, "mode": mode, "config": config}
        self._arguments |= {"dir": folder, "name": token, "group": token}
        self._run: Any = None

    def _begin(self) -> None:
        wandb = _import_wandb()
        # the console is Sacred's to capture
        settings = wandb.Settings(console="off", silent=True, save_code=False, init_timeout=10)
        os.makedirs(self._folder, exist_ok=True)
        notes = f"continues {self.continues}" if self.continues else None
        self._run = wandb.init(**self._arguments, notes=notes, settings=settings)
        self._run.define_metric("t_env")
        self._run.define_metric("*", step_metric="t_env")

    def take_model(self, folder: Path) -> None:
        """Keep the models in `folder` at the next delivery of values."""
        if self._save_model:
            self._models.append(folder)

    def _id(self) -> str:
        return self._run.id

    def _copy_models(self) -> None:
        """Copy the models that wait: the package takes along what lies in its folder when the run ends."""
        while self._models:
            folder = self._models.pop()
            shutil.copytree(folder, Path(self._run.dir, MODELS, *folder.parts[-2:]), dirs_exist_ok=True)

    def _deliver(self, values: list[Value]) -> None:
        self._copy_models()
        row: dict[str, float] = {}
        for value in values:
            if row and (row["t_env"] != value.step or value.key in row):
                self._run.log(row)
                row = {}
            row |= {"t_env": value.step, value.key: value.value}
        self._run.log(row)

    def _attach(self, attachment: Attachment) -> None:
        wandb, path = _import_wandb(), str(attachment.path)
        match attachment.kind:
            case "model":
                # each run's is a version of its own, which the service counts
                name = re.sub(r"[^\w.-]", "_", self._token, flags=re.ASCII)
                artifact = wandb.Artifact(
                    f"{name}-{attachment.name}"[-128:], type="model", metadata={"t_env": attachment.step}
                )
                artifact.add_dir(path)
                self._run.log_artifact(artifact)
            case "video":
                ending = attachment.path.suffix.removeprefix(".")
                self._run.log({"t_env": attachment.step, attachment.name: wandb.Video(path, format=ending)})
            case _:
                self._run.log(
                    {"t_env": attachment.step, attachment.name: wandb.Html(attachment.path.read_text(), inject=False)}
                )

    def _end(self, finished: bool) -> None:
        self._copy_models()
        self._run.finish(exit_code=0 if finished else 1)
