"""Published figures, `published.yaml` beside the files of curves: what papers report, and what is compared with it.

sources:
  paper: {title: "Someone et al. 2021, table 3", measure: maximum, seeds: 5, caution: "quoted from memory"}
algorithms: {MAPPO: [epymarl_mappo, mappo]}     # the paper's name, and the rows of ours beside it
tables:
  rware:
    title: RWARE
    source: paper
    steps: {MAPPO: 40000000}
    tasks:
      tiny-4ag: {maps: [rware:rware-tiny-4ag-v2], figures: {MAPPO: [49.42, 1.22]}}
      spread: {maps: [pz-mpe-simple-spread-v3], figures: {MAPPO: -133.5}, scale: {times: 2, plus: -75}}
    notes:
      - {tasks: [tiny-4ag], algorithms: [MAPPO], text: "half of the paper's steps"}
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suites.plan.resources import require_known
from suites.tables.results import MEASURES, Value
from utils.errors import ConfigError
from utils.files.yaml_files import load_yaml
from utils.nearest import suggestion
from utils.plain_values import quoted

NAME = "published.yaml"
LARGEST = 1e300


@dataclass(frozen=True)
class Source:
    """Where figures were published; `caution`: how sure they are; `seeds`: 0: not known."""

    title: str
    measure: str
    seeds: int = 0
    caution: str = ""


@dataclass(frozen=True)
class Task:
    """A task of a table.

    Attributes:
        maps: ours, any of which are this task.
        figures: as text, by the paper's names of algorithms.
        times, plus: what makes the paper's scale of ours: ours · times + plus.
    """

    name: str
    maps: list[str]
    figures: dict[str, str]
    times: float = 1.0
    plus: float = 0.0

    @property
    def is_scaled(self) -> bool:
        """Whether the paper has another scale."""
        return (self.times, self.plus) != (1.0, 0.0)


@dataclass(frozen=True)
class Note:
    """Why figures differ, of these tasks and algorithms; without names, of all."""

    text: str
    tasks: list[str] = field(default_factory=list)
    algorithms: list[str] = field(default_factory=list)

    def is_about(self, task: str, algorithm: str) -> bool:
        """Whether a row has this note."""
        return task in (self.tasks or [task]) and algorithm in (self.algorithms or [algorithm])


@dataclass(frozen=True)
class PublishedTable:
    """A table; `steps`: of training, by the paper's names of algorithms."""

    name: str
    title: str
    source: Source
    tasks: list[Task]
    steps: dict[str, int]
    notes: list[Note]


@dataclass(frozen=True)
class Published:
    """A file of published figures; `algorithms`: the paper's names by our rows."""

    algorithms: dict[str, str] = field(default_factory=dict)
    tables: list[PublishedTable] = field(default_factory=list)


def read_published(folder: Path) -> Published:
    """The published figures of a folder; none if it has no such file.

    Raises:
        ConfigError: the key that is wrong, what was found and what is allowed.
    """
    path = folder / NAME
    if not path.exists():
        return Published()
    try:
        return _published(load_yaml(path))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _published(content: dict[str, Any]) -> Published:
    require_known("", content, ("sources", "algorithms", "tables"))
    sources = {name: _source(f"sources.{name}", one) for name, one in _mapping("sources", content).items()}
    names: dict[str, str] = {}
    for theirs, ours in _mapping("algorithms", content).items():
        for row in _texts(f"algorithms.{theirs}", ours):
            if names.setdefault(row, theirs) != theirs:
                raise ConfigError(f"algorithms: {quoted(row)} is beside {names[row]} and beside {theirs}.")
    known = list(_mapping("algorithms", content))
    tables = [_table(name, one, sources, known) for name, one in _mapping("tables", content).items()]
    return Published(names, tables)


def _source(where: str, value: Any) -> Source:
    require_known(where, value, ("title", "measure", "seeds", "caution"))
    measure = value.get("measure", "maximum")
    if measure not in MEASURES:
        raise ConfigError(f"{where}.measure is {quoted(measure)}.{suggestion(str(measure), MEASURES)}")
    seeds = _number(f"{where}.seeds", value.get("seeds", 0))
    return Source(str(value.get("title", "")), measure, int(seeds), str(value.get("caution", "")))


def _table(name: str, value: Any, sources: Mapping[str, Source], algorithms: list[str]) -> PublishedTable:
    where = f"tables.{name}"
    require_known(where, value, ("title", "source", "steps", "tasks", "notes"))
    if (source := value.get("source")) not in sources:
        raise ConfigError(f"{where}.source is {quoted(source)}.{suggestion(str(source), sources)}")
    steps = {
        algorithm: int(_number(f"{where}.steps.{algorithm}", number))
        for algorithm, number in _of_algorithms(f"{where}.steps", value.get("steps", {}), algorithms).items()
    }
    tasks = [_task(f"{where}.tasks.{task}", task, one, algorithms) for task, one in _mapping("tasks", value).items()]
    names = [task.name for task in tasks]
    notes = [_note(f"{where}.notes", note, names, algorithms) for note in value.get("notes", [])]
    return PublishedTable(name, str(value.get("title", name)), sources[source], tasks, steps, notes)


def _task(where: str, name: str, value: Any, algorithms: list[str]) -> Task:
    require_known(where, value, ("maps", "figures", "scale"))
    figures = {
        algorithm: _figure(f"{where}.figures.{algorithm}", figure)
        for algorithm, figure in _of_algorithms(f"{where}.figures", value.get("figures", {}), algorithms).items()
    }
    scale = value.get("scale", {})
    require_known(f"{where}.scale", scale, ("times", "plus"))
    times, plus = (_number(f"{where}.scale.{key}", scale.get(key, usual)) for key, usual in (("times", 1), ("plus", 0)))
    return Task(name, _texts(f"{where}.maps", value.get("maps")), figures, float(times), float(plus))


def _note(where: str, value: Any, tasks: list[str], algorithms: list[str]) -> Note:
    require_known(where, value, ("text", "tasks", "algorithms"))
    for key, known in (("tasks", tasks), ("algorithms", algorithms)):
        for name in value.get(key, []):
            if name not in known:
                raise ConfigError(f"{where}.{key}: there is no {quoted(name)}.{suggestion(str(name), known)}")
    return Note(str(value.get("text", "")), value.get("tasks", []), value.get("algorithms", []))


def _figure(where: str, value: Any) -> str:
    """A mean, a mean with half of its interval's width, or text such as "1.00" or "below 1"."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return f"{_number(where, value):g}"
    if len(value) != 2:
        raise ConfigError(f"{where} is {quoted(value)}; it must be a mean, or [mean, half of the interval's width].")
    mean, half = (float(_number(where, number)) for number in value)
    return Value(mean, half).text()


def _of_algorithms(where: str, value: Any, algorithms: list[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} is {quoted(value)}; it must be a mapping of algorithms to numbers.")
    for name in value:
        if name not in algorithms:
            raise ConfigError(f"{where}: there is no algorithm '{quoted(name)}'.{suggestion(name, algorithms)}")
    return value


def _mapping(key: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
    value = content.get(key, {})
    if not isinstance(value, Mapping):
        raise ConfigError(f"{key} is {quoted(value)}; it must be a mapping of names.")
    return value


def _texts(where: str, value: Any) -> list[str]:
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        raise ConfigError(f"{where} is {quoted(value)}; it must be a name, or a list of names.")
    return value


def _number(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise ConfigError(f"{where} is {quoted(value)}; it must be a number.")
    return value
