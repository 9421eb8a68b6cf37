"""Resuming a run: from which checkpoint, with which config."""

from dataclasses import dataclass, field
from pathlib import Path

from checkpoints.store import Checkpoint, newest_checkpoint
from records.find_run import find_run
from records.run_folder import RunFolder
from utils.config.renamed_keys import with_new_names
from utils.errors import ConfigError
from utils.processes.code_version import differences


@dataclass
class Resumption:
    """A run to resume.

    `warnings`: for the user who resumes it.
    """

    token: str
    results: Path
    checkpoint: Checkpoint
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, name: str, results: str | Path) -> "Resumption":
        """The run that `name` means (see `find_run`), from its newest valid checkpoint.

        Raises:
            ConfigError: there is no such run, or it has no such checkpoint.
        """
        found = find_run(name, results)
        if found.given is not None:
            raise ConfigError(
                f"{found.given} has a run's models but no checkpoint, so it cannot be resumed. A new run starts from "
                f"them with checkpoint_path={found.given}."
            )
        folder = RunFolder(found.results, found.token)
        folder.require_no_links()
        checkpoint, problems = newest_checkpoint(folder.path)
        warnings = [f"Not used: {problem}" for problem in problems]
        code = checkpoint.manifest.get("code")
        if changed := differences(code if isinstance(code, dict) else {}):
            warnings.append(
                f"The checkpoint was written by other code ({'; '.join(changed)}): "
                "the run resumes, but perhaps not with the numbers it would have had."
            )
        return cls(found.token, found.results, checkpoint, warnings)

    @property
    def folder(self) -> Path:
        """The run's own."""
        return RunFolder(self.results, self.token).path

    def config_of(self, recorded: dict) -> dict:
        """`recorded`, or what of it is allowed (`checks.side_effects`), with the results where they are found now."""
        return {**recorded, "local_results_path": str(self.results)}

    @property
    def recorded(self) -> dict:
        """The run's config as the checkpoint has it, its seed included."""
        return with_new_names(self.checkpoint.manifest["config"], recorded=True)

    def origin(self) -> dict:
        """The origin of the resumed run, for its record: the Sacred run (None: unobserved) and the step."""
        manifest = self.checkpoint.manifest
        return {"sacred_id": manifest.get("sacred_id"), "t_env": manifest["t_env"]}
