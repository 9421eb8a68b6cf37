"""Published curves beside those of runs: of the files that `suite.py export` writes, some of which come with Muster.

A word names them: `presets:hpn_qmix`, a file and an algorithm in it, or the path of a file.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from browser.reading.curve_files import ENDING, CurveFile, RunCurve, read_curves
from browser.reading.curves import Curve
from browser.stats.bands import Band, curve_band
from utils.config.merging import CONFIG_DIR
from utils.errors import ConfigError
from utils.nearest import suggestion

# beside `src`, in a checkout and in the installed package
FOLDERS = tuple(CONFIG_DIR.parent / "docs" / name for name in ("tables", "algorithms"))
# of one comparison
MOST = 20


@dataclass(frozen=True)
class Reference:
    """The runs of an algorithm in a file.

    Attributes:
        label: of its line.
        metric: the statistic that the file has.
    """

    label: str
    metric: str
    runs: tuple[RunCurve, ...]

    def band(self, metric: str, map_name: str, kind: str, axis: str, smoothing: int) -> Band | None:
        """Its curve on a map, by the map's name with or without the environment; None without one on this axis."""
        found = [run for run in self.runs if is_on(run, map_name)]
        if metric != self.metric or axis != "steps" or not found:
            return None
        curves = [Curve(metric, np.array(run.steps), np.array(run.values, dtype=np.float64)) for run in found]
        return curve_band(self.label, curves, kind, axis, smoothing)


def is_on(run: RunCurve, map_name: str) -> bool:
    """Whether a run is on the map that a comparison calls so."""
    place = run.map or run.environment
    return map_name in (place, f"{run.environment}/{place}")


def references_of(words: Sequence[str]) -> list[Reference]:
    """The references that words name.

    Raises:
        ConfigError: there is no such file, or no such algorithm in it; or there are too many.
    """
    found: list[Reference] = []
    for word in dict.fromkeys(words):
        name, _, algorithm = word.partition(":")
        file = _file(name)
        algorithms = list(dict.fromkeys(run.algorithm for run in file.runs))
        if algorithm and algorithm not in algorithms:
            raise ConfigError(f"{name} has no curves of '{algorithm}'.{suggestion(algorithm, algorithms, limit=20)}")
        for one in [algorithm] if algorithm else algorithms:
            runs = tuple(run for run in file.runs if run.algorithm == one)
            found.append(Reference(f"{one} ({file.suite})", file.metric, runs))
    if len(found) > MOST:
        raise ConfigError(f"{len(found)} reference curves are too many for one figure; {MOST} can be drawn.")
    return found


def words_on(maps: Collection[str]) -> list[str]:
    """The words of the curves that come with Muster and are of one of these maps."""
    return [
        word
        for name, file in shipped().items()
        for word in dict.fromkeys(f"{name}:{run.algorithm}" for run in file.runs if _is_on_any(run, maps))
    ]


@cache
def shipped() -> dict[str, CurveFile]:
    """The files that come with Muster, by name."""
    paths: Iterable[Path] = (path for folder in FOLDERS for path in sorted(folder.glob(f"*{ENDING}")))
    return {path.stem: read_curves(path) for path in paths}


def _is_on_any(run: RunCurve, maps: Collection[str]) -> bool:
    return any(is_on(run, name) for name in maps)


def _file(name: str) -> CurveFile:
    if name in (files := shipped()):
        return files[name]
    if name.endswith(ENDING):
        return read_curves(Path(name))
    raise ConfigError(
        f"There are no reference curves '{name}'.{suggestion(name, files)} The path of your own file ends in {ENDING}."
    )
