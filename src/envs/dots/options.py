"""The `env_args` of DOTS, and what is refused before anything starts."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dots_simulator.channels import ENGINE_SETTINGS
from dots_simulator.layout import PROTOCOLS
from envs.contract.arguments import require_choice, require_numbers
from envs.contract.reaches import OF_ALL, nowhere, numbers_of
from envs.dots import side_channels
from envs.dots.connecting import AUTO, Wanted
from envs.dots.overwritten import AUTO as FOUND_OUT
from envs.dots.overwritten import IDS
from envs.dots.process import found
from utils.config.reach import FILES, PROGRAM, Reach, whole_path
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

BOUNDS = {
    "launch_timeout": (0.1, 86_400.0),
    "timeout": (0.1, 86_400.0),
    "time_limit": (1, 10**7),
    "start_turns": (1, 10**6),
}
WHOLE = ("time_limit", "start_turns")
SEED, COPY = "{seed}", "{copy}"
ENGINE = ("width", "height", *(name for name in ENGINE_SETTINGS if name != "resolution"))


@dataclass
class Options:
    """Constructor arguments; `about` has their meaning."""

    executable: str | None = None
    args: list[Any] = field(default_factory=list)
    protocol: str = AUTO
    folder: str | None = None
    launch_timeout: float = 60.0
    timeout: float = 60.0
    wake: bool = True
    behaviours: list[str] = field(default_factory=list)
    start_turns: int = 20
    time_limit: int = 1000
    parameters: dict[str, float] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    side_channels: list[Any] = field(default_factory=list)
    masks: str = "agents"
    ids: str = FOUND_OUT
    seed: int | None = None
    test_mode: bool = False  # set by Muster: whether tests are played
    place: Any = (0, 1, 0)  # set by Muster: number among the copies that share a cycle, their number, and among all

    def __post_init__(self):
        require_numbers(self, BOUNDS, WHOLE)
        self._require_texts()
        if self.protocol not in (AUTO, *PROTOCOLS):
            raise ConfigError(
                f"env_args.protocol is {quoted(self.protocol)}; it must be {AUTO}, {' or '.join(PROTOCOLS)} "
                "(in quotes)."
            )
        require_choice("env_args.masks", self.masks, ("agents", "branches"))
        require_choice("env_args.ids", self.ids, IDS)
        if self.ids != FOUND_OUT and self.protocol == "0.3.2":
            raise ConfigError(f"env_args.ids={self.ids} is of protocol 0, and env_args.protocol is 0.3.2.")
        self._require_parameters()
        self._require_engine()
        for name in self.side_channels:
            if not isinstance(name, type) and name not in side_channels.REGISTRY:
                raise ConfigError(
                    f"env_args.side_channels: no plugin has registered '{quoted(name)}'."
                    f"{suggestion(str(name), side_channels.REGISTRY)}"
                )

    def wanted(self) -> Wanted:
        seed = str(self.seed if self.seed is not None else 0)
        args = [str(one).replace(SEED, seed).replace(COPY, str(self.place[2])) for one in self.args]
        return Wanted(
            self.executable,
            args,
            self.protocol,
            self.folder,
            self.launch_timeout,
            self.timeout,
            bool(self.wake),
            self.ids,
        )

    def channels(self) -> list[type]:
        """The classes of plugins' side channels."""
        return [one if isinstance(one, type) else side_channels.REGISTRY[one] for one in self.side_channels]

    def _require_texts(self) -> None:
        for key in ("executable", "folder"):
            value = getattr(self, key)
            if value is not None and (not isinstance(value, str) or not value or not value.isprintable()):
                raise ConfigError(f"env_args.{key} is {quoted(value) if value else repr(value)}; it must be a path.")
        if self.executable is not None:
            _require_executable(self.executable)
        if self.folder is not None:
            _require_folder(Path(self.folder))
        for key in ("args", "behaviours", "side_channels"):
            value = getattr(self, key)
            if not isinstance(value, list) or not all(isinstance(one, str | int | float | type) for one in value):
                raise ConfigError(f"env_args.{key} is {quoted(value)}; it must be a list of words.")
        if self.executable is None and self.args:
            raise ConfigError("env_args.args are for an executable, and env_args.executable is null: an editor.")

    def _require_parameters(self) -> None:
        if not isinstance(self.parameters, Mapping):
            raise ConfigError(
                f"env_args.parameters is {quoted(self.parameters)}; it must be a mapping of names to numbers."
            )
        for key, value in self.parameters.items():
            if not isinstance(key, str) or not key.isascii():
                raise ConfigError(f"env_args.parameters: the name {quoted(key)} must be a word in ASCII.")
            if not _is_number(value):
                raise ConfigError(
                    f"env_args.parameters.{key} is {quoted(value)}; it must be a number that fits into a float32."
                )

    def _require_engine(self) -> None:
        if not isinstance(self.engine, Mapping):
            raise ConfigError(f"env_args.engine is {quoted(self.engine)}; it must be a mapping of settings.")
        for key, value in self.engine.items():
            if key not in ENGINE:
                raise ConfigError(
                    f"env_args.engine.{quoted(key)}: there is no such setting.{suggestion(str(key), ENGINE)}"
                )
            whole = key != "time_scale"
            if not _is_number(value) or (whole and (int(value) != value or not -(2**31) <= value < 2**31)):
                raise ConfigError(
                    f"env_args.engine.{key} is {quoted(value)}; it must be a {'whole number' if whole else 'number'}."
                )
        if ("width" in self.engine) != ("height" in self.engine):
            raise ConfigError("env_args.engine: width and height belong together.")


def sole(executable: Any = None, **env_args: Any) -> str:
    """See the trait `sole_if`: a run starts as many executables as it needs, and editors only a person can start."""
    return "" if executable else "there is no env_args.executable to start, and one editor or simulator attaches"


def _require_executable(executable: str) -> None:
    path = found(executable)
    if path is None:
        what = "is a folder" if Path(executable).expanduser().is_dir() else "is missing"
        raise ConfigError(f"env_args.executable: {quoted(executable)} {what}; it must be the file of a simulator.")
    if path.suffix != ".py" and not os.access(path, os.X_OK):
        raise ConfigError(
            f"env_args.executable: the file {quoted(str(path))} cannot be executed. If it is a simulator: "
            f"chmod u+x {quoted(str(path))}."
        )


def _require_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise ConfigError(f"env_args.folder: there is no folder {quoted(str(folder))}.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"env_args.folder: nothing can be written to {quoted(str(folder))}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 3.4e38


REACHES: Mapping[str, Reach] = {
    **OF_ALL,
    **numbers_of(Options),
    "executable": Reach(PROGRAM.what, lasting=whole_path),
    "args": PROGRAM,
    "folder": FILES,
    **nowhere("protocol behaviours parameters engine side_channels masks ids place"),
}
