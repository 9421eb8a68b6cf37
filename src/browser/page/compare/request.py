"""The requests of the views Compare and Results table, read from an address or from their controls."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from browser.comparison import ONLY, SCORES, Comparison
from browser.figures import metric_title
from browser.page.parts import address, saved_views
from browser.page.parts.context import Context
from browser.page.parts.filters import meeting
from browser.page.parts.limits import MOST_ASKED, MOST_MESSAGES
from browser.reading import Run
from browser.reading.configs import config_keys, key_suggestion
from browser.reading.curves import AXES
from browser.references import MOST, references_of, words_on
from browser.stats.bands import BANDS, DEFAULT_BAND
from browser.stats.grouping import SEED_KEYS
from records.run_score import LAST
from utils.nearest import suggestion

LINEAR = "linear"
SCALES = {LINEAR: "linear", "x": "log x", "y": "log y", "xy": "log x and y"}
AXIS_TITLES = {"steps": "environment steps", "episodes": "episodes", "seconds": "wall-clock", "updates": "updates"}
MOST_SMOOTHING = 1000
MOST_STEPS = 10**15
MOST_ALSO = 7
DEFAULT_GROUP = ("name",)
# among the bands: none, but a line per run
SINGLE = "runs"


@dataclass(frozen=True)
class Request:
    """A requested comparison.

    Attributes:
        runs: ids; empty for all runs.
        metric: a statistic; empty if no run has any.
        group: config keys that make an algorithm.
        also: further statistics, whose curves stand beside.
        axis, scale, band, smoothing: of the curves; the scale is one of SCALES, the band may be SINGLE.
        score, last, step: of the results table, see `Comparison.scores`.
        only: what is left out, see `Comparison`.
        keys: config keys whose values are drawn; empty: all in which the runs differ.
        where: a filter of the runs (`browser.filtering`).
        reference: published curves, as words (`browser.references`).
        hide: algorithms that are not drawn, as `hidden_name` writes them.
    """

    runs: tuple[str, ...] = ()
    metric: str = ""
    group: tuple[str, ...] = DEFAULT_GROUP
    also: tuple[str, ...] = ()
    axis: str = "steps"
    scale: str = LINEAR
    band: str = DEFAULT_BAND
    smoothing: int = 1
    score: str = "final"
    last: int = LAST
    step: int | None = None
    only: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    where: str = ""
    reference: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()

    def address(self, path: str, **changes: Any) -> str:
        """The address of the view with this path, with changes such as a `Remedy` has, and without defaults."""
        changed, usual = replace(self, **changes), Request()
        values = {one.name: getattr(changed, one.name) for one in fields(self)}
        return address.link(path, {name: value for name, value in values.items() if value != getattr(usual, name)})


# report.py's names of the same
_OF_REPORTS = {"smooth": "smoothing", "group-by": "group"}
# what an address may say
SETTINGS = (*(one.name for one in fields(Request)), *_OF_REPORTS, saved_views.VIEW)


@dataclass
class Compared:
    """A valid request, its runs, what can be chosen, and the invalid parts of what was asked for (a sentence each)."""

    request: Request
    runs: list[Run]
    comparison: Comparison
    metrics: list[str]
    keys: list[str]
    references: list[str]
    wrong: list[str] = field(default_factory=list)


def compare(context: Context, query: Mapping[str, str]) -> Compared:
    """The comparison that an address requests, with defaults in place of invalid parts."""
    wrong: list[str] = []
    query = {_OF_REPORTS.get(name, name): value for name, value in query.items()}
    asked, unknown = asked_runs(context, query)
    if unknown:
        more = f", and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        wrong.append(f"There is no run '{unknown[0][:100]}'{more} in this folder.")
    runs, where = meeting(context, asked, query.get("where", ""), wrong)
    keys = sorted({"name", *config_keys(run.newest for run in runs)} - set(SEED_KEYS))
    group = tuple(_known_keys(address.names(query, "group"), keys, wrong)) or DEFAULT_GROUP
    only = tuple(name for name in address.names(query, "only") if _is_choice(name, wrong))
    known = words_on(Comparison(context.results, runs, group, only).maps)
    reference = tuple(_known_references(address.names(query, "reference"), known, wrong))
    comparison = Comparison(context.results, runs, group, only, references_of(reference))
    metrics = comparison.metric_keys()
    usual = next(iter(comparison.usual_metrics()), "")
    metric = query.get("metric", usual)
    if metric != usual and not comparison.has(metric):
        wrong.append(f"No run has the statistic '{metric[:100]}'.{suggestion(metric[:100], metrics, limit=5)}")
        metric = usual
    also = [key for key in dict.fromkeys(address.names(query, "also")) if key != metric]
    for key in [key for key in also if not comparison.has(key)][:MOST_MESSAGES]:
        wrong.append(f"No run has the statistic '{key[:100]}'.{suggestion(key[:100], metrics, limit=5)}")
    request = Request(
        tuple(run.id for run in asked) if address.names(query, "runs") else (),
        metric,
        group,
        tuple(key for key in also if comparison.has(key))[:MOST_ALSO],
        address.choice(query, "axis", AXES, "steps", wrong),
        address.choice(query, "scale", SCALES, LINEAR, wrong),
        address.choice(query, "band", [*BANDS, SINGLE], DEFAULT_BAND, wrong),
        address.whole_number(query, "smoothing", 1, MOST_SMOOTHING, 1, wrong),
        address.choice(query, "score", SCORES, "final", wrong),
        address.whole_number(query, "last", 1, MOST_SMOOTHING, LAST, wrong),
        address.whole_number(query, "step", 0, MOST_STEPS, None, wrong),
        only,
        tuple(_known_keys(address.names(query, "keys"), keys, wrong)),
        where,
        reference,
        tuple(name for name in address.names(query, "hide") if name in map(hidden_name, comparison.lines())),
    )
    shown = sorted({*metrics, *([metric] if metric else [])})
    return Compared(request, runs, comparison, shown, keys, known, wrong)


def asked_runs(context: Context, query: Mapping[str, str]) -> tuple[list[Run], list[str]]:
    """The runs that an address asks for, by default all that are not archived, and the ids that no run has."""
    asked = address.names(query, "runs")
    runs, unknown = context.chosen(asked)
    return [run for run in runs if asked or not context.notes.of(run).archived], unknown


def metric_options(metrics: list[str]) -> dict[str, str]:
    """Statistics to choose from: by their words where there are some, and always by their key."""
    return {key: key if metric_title(key) == key else f"{metric_title(key)} ({key})" for key in metrics}


def hidden_name(label: str) -> str:
    """An algorithm's label in an address, where a comma separates names."""
    return label.replace(",", ";")


def _is_choice(name: str, wrong: list[str]) -> bool:
    if name not in ONLY:
        wrong.append(f"There is no choice '{name[:100]}' of --only.{suggestion(name[:100], ONLY)}")
    return name in ONLY


def _known_references(words: list[str], known: list[str], wrong: list[str]) -> list[str]:
    for word in [word for word in words if word not in known][:MOST_MESSAGES]:
        wrong.append(f"No published curve on these maps is '{word[:100]}'.{suggestion(word[:100], known, limit=5)}")
    return [word for word in dict.fromkeys(words) if word in known][:MOST]


def _known_keys(names: list[str], keys: list[str], wrong: list[str]) -> list[str]:
    for name in names[:MOST_ASKED]:
        if name in SEED_KEYS:
            wrong.append("Runs of a group are repetitions over seeds, so they cannot be grouped by seed.")
        elif name not in keys and len(wrong) < MOST_MESSAGES:
            wrong.append(f"No run's config has the key '{name[:100]}'.{key_suggestion(name[:100], keys)}")
    return [name for name in dict.fromkeys(names[:MOST_ASKED]) if name in keys]
