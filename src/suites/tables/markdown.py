"""Tables in Markdown: ours beside the published, and under it the notes, the runs and their settings."""

from collections.abc import Sequence

from suites.tables.published import Note, Published, PublishedTable, Task
from suites.tables.results import MEASURES, Setting
from utils.timehelper import about

# of a run that is in no published table
OTHERS = "others"
RULES = "env_args.rules="  # of Skirmish
_DETAILS = "<details><summary>Runs and settings</summary>"


def rendered(published: Published, settings: Sequence[Setting]) -> dict[str, str]:
    """The tables by name, without those that have no run of ours; `OTHERS` has what is in none of the published."""
    tables = {}
    placed: set[int] = set()
    for table in published.tables:
        lines = _Lines(published, table, settings)
        if lines.used:
            tables[table.name] = lines.text()
            placed.update(map(id, lines.used))
    if rest := [setting for setting in settings if id(setting) not in placed]:
        tables[OTHERS] = _plain(rest)
    return tables


class _Lines:
    """The lines of one table, task by task in the order of the file; `used`: settings that are in it."""

    def __init__(self, published: Published, table: PublishedTable, settings: Sequence[Setting]):
        self._names, self._table = published.algorithms, table
        self._scaled = any(task.is_scaled for task in table.tasks)
        maps = {name for task in table.tasks for name in task.maps}
        self._absolute = _has_absolute([setting for setting in settings if setting.first.map in maps])
        self._notes: list[Note] = []
        self.used: list[Setting] = []
        self._rows: list[list[str]] = []
        # figures by task that no run of ours stands beside
        self._alone: dict[str, list[str]] = {}
        for task in table.tasks:
            own = [setting for setting in settings if setting.first.map in task.maps]
            if own:
                self._add(task, own)

    def text(self) -> str:
        """The table with what belongs to it."""
        source, table = self._table.source, self._table
        scaled = ["on their scale"] if self._scaled else []
        ours, theirs = [*_headings(self._absolute), *scaled], ["published", "their steps"]
        said = f"Published: {source.title}; {MEASURES[source.measure]}"
        said += f"; {source.seeds} seeds." if source.seeds else "."
        parts = [f"### {table.title}", "", said + (f" {source.caution}" if source.caution else "")]
        with_notes = [] if not self._notes else ["note"]
        rows = [row if with_notes else row[:-1] for row in self._rows]
        parts += ["", *_markdown(["task", "algorithm", *ours, *theirs, *with_notes], rows)]
        if self._alone:
            alone = "; ".join(f"{task}: {', '.join(figures)}" for task, figures in self._alone.items())
            parts += ["", f"Published, without runs here: {alone}."]
        if self._notes:
            parts += ["", *(f"{number}. {note.text}" for number, note in enumerate(self._notes, 1))]
        if scales := [_scale_text(task) for task in table.tasks if task.is_scaled]:
            parts += ["", "The paper's scale: " + "; ".join(scales) + "."]
        return "\n".join([*parts, "", *_details(self.used)]) + "\n"

    def _add(self, task: Task, settings: list[Setting]) -> None:
        """The rows of a task: the paper's algorithms in its order, ours of each, then our own others."""
        by_name: dict[str, list[Setting]] = {name: [] for name in task.figures}
        for setting in settings:
            by_name.setdefault(self._names.get(_base(setting), setting.first.algorithm), []).append(setting)
        for name, own in by_name.items():
            figure = task.figures.get(name, "")
            theirs = [figure, _steps(self._table.steps.get(name, 0)) if figure else ""]
            note = self._numbers(task.name, name) if own else ""
            for setting in own:
                self._rows.append([task.name, _label(name, setting), *self._ours(task, setting), *theirs, note])
                self.used.append(setting)
            if not own:
                self._alone.setdefault(task.name, []).append(f"{name} {figure}")

    def _ours(self, task: Task, setting: Setting) -> list[str]:
        compared = setting.value(self._table.source.measure).scaled(task.times, task.plus)
        scaled = [compared.text()] if self._scaled else []
        return [*_columns(setting, self._absolute), *scaled]

    def _numbers(self, task: str, algorithm: str) -> str:
        """The numbers of the notes on a row."""
        for note in self._table.notes:
            if note.is_about(task, algorithm) and note not in self._notes:
                self._notes.append(note)
        return ", ".join(str(i) for i, note in enumerate(self._notes, 1) if note.is_about(task, algorithm))


def _plain(settings: Sequence[Setting]) -> str:
    """A table of settings that nothing published stands beside."""
    absolute = _has_absolute(settings)
    headings = ["environment", "map", "algorithm", "statistic", *_headings(absolute)]
    rows = [
        [
            _environment(setting),
            setting.first.map,
            f"`{setting.first.algorithm}`",
            f"`{setting.metric}`",
            *_columns(setting, absolute),
        ]
        for setting in sorted(settings, key=lambda one: (one.first.environment, one.first.map, one.first.algorithm))
    ]
    return "\n".join(["### Others", "", *_markdown(headings, rows), "", *_details(settings)]) + "\n"


def _environment(setting: Setting) -> str:
    """Its name, and the version of its rules where the runs name one: figures of different rules are not alike."""
    rules = next((word.removeprefix(RULES) for word in setting.first.words if word.startswith(RULES)), "")
    return f"{setting.first.environment}, rules {rules}" if rules else setting.first.environment


def _has_absolute(settings: Sequence[Setting]) -> bool:
    """Whether any of them has an absolute metric, which otherwise has no column."""
    return any(run.absolute for setting in settings for run in setting.runs)


def _headings(absolute: bool) -> list[str]:
    return ["steps", "seeds", "maximum", "at", "final", *(["absolute"] if absolute else [])]


def _columns(setting: Setting, absolute: bool) -> list[str]:
    last, maximum = max(run.steps[-1] for run in setting.runs), setting.value("maximum")
    columns = [_steps(last), str(len(setting.runs)), maximum.text(), _steps(maximum.at), setting.value("final").text()]
    return [*columns, *([setting.value("absolute").text()] if absolute else [])]


def _details(settings: Sequence[Setting]) -> list[str]:
    """What each row's runs are called, and the command line that they have in common."""
    lines = [_DETAILS, ""]
    for setting in settings:
        run = setting.first
        commits = ", ".join(dict.fromkeys(one.commit for one in setting.runs if one.commit))
        took = f"{about(setting.seconds)} each" + (f", {commits}:" if commits else ":")
        lines.append(f"- `{run.algorithm}`, `{run.map or run.environment}`, {took}  ")
        lines.append(f"  {_ids([one.id for one in setting.runs])}  ")
        lines.append(f"  `{' '.join(run.words)}`")
    return [*lines, "", "</details>"]


def _ids(ids: list[str]) -> str:
    """Ids of runs, `<name>-s<seed>-<hash>`, with a name that all of them have written once."""
    names = {name.rsplit("-", 2)[0] for name in ids}
    if len(ids) == 1 or len(names) > 1:
        return ", ".join(f"`{name}`" for name in ids)
    (common,) = names
    return f"`{common}-` " + ", ".join(f"`{name.removeprefix(f'{common}-')}`" for name in ids)


def _base(setting: Setting) -> str:
    """The row's name as the file of published figures may have it: with its overrides, or without."""
    return setting.first.algorithm.partition("+")[0]


def _label(name: str, setting: Setting) -> str:
    row = setting.first.algorithm
    return f"`{row}`" if name == row else f"{name} (`{row}`)"


def _steps(number: int) -> str:
    """Steps in thousands or millions: "20M", "2.05M", "50k"."""
    for unit, size in (("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number) if number else ""


def _scale_text(task: Task) -> str:
    times = "" if task.times == 1 else f" × {task.times:g}"
    plus = "" if task.plus == 0 else f" {'+' if task.plus > 0 else '-'} {abs(task.plus):g}"
    return f"{task.name}: ours{times}{plus}"


def _markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    rows = [headings, ["---"] * len(headings), *rows]
    return [f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in row)}|" for row in rows]
