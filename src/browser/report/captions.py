"""What stands under a figure or a table: what is shown, the kind of interval, and how many runs there are."""

from collections import Counter
from collections.abc import Iterable, Mapping

from browser.comparison import NO_MAP, title_of_score
from browser.figures.wording import axis_title, in_sentence
from browser.report.arguments import Options
from browser.report.content import Metric
from browser.stats import cells_of, mean_title
from browser.stats.bands import bands_title

_BOOTSTRAP = "95 % stratified bootstrap intervals"
NORMALISED = "Scores are normalised: on every map the lowest run is 0 and the highest 1."


def captions_of(metric: Metric, options: Options) -> dict[str, str]:
    """The captions of a statistic's figures by their names in `writing.drawn`, and of its "table"."""
    score = f"{metric.title}, {title_of_score(metric.key, options.score, options.last)}"
    scaled = f" {NORMALISED}" if metric.normalised else ""
    cells = cells_of(metric.matrix)
    runs = _counts({label: [cell.n for cell in row.values() if cell.n] for label, row in metric.matrix.items()})
    pooled = _counts({label: [one.n] for label, one in next(iter(metric.aggregates.values()), {}).items()})
    table = f"{score}: {mean_title(cells)}, {runs} on each map."
    made = {
        "curves": _of_curves(metric, list(metric.curves), options) if metric.curves else "",
        "matrix": table + " The best of each map is bold.",
        "table": table + " The best of each map is bold.",
        "aggregates": f"{score}: aggregates over runs and maps with {_BOOTSTRAP}, {pooled}.{scaled}",
        "profiles": f"Performance profiles ({in_sentence(score)}): the share of runs with a score above τ, with "
        f"pointwise {_BOOTSTRAP}, {pooled}.{scaled}",
        "improvement": f"Probability that a run of X has a higher score than one of Y ({in_sentence(score)}), averaged "
        f"over maps, with {_BOOTSTRAP}; n counts the runs of both.",
    }
    return made | {f"curves_{name}": _of_curves(metric, [name], options) for name in metric.curves}


def _of_curves(metric: Metric, maps: list[str], options: Options) -> str:
    bands = [band for name in maps for band in metric.curves[name]]
    runs = _counts({label: [band.runs for band in bands if band.label == label] for label in metric.lines})
    named = [name for name in maps if name != NO_MAP]
    where = f" on {_listed(named)}" if named else ""
    smooth = f" Each run is smoothed over {options.smoothing} values." if options.smoothing > 1 else ""
    parts = any(not band.complete().all() for band in bands)
    thin = " Lines are thin and dotted where runs are missing." if parts else ""
    over = in_sentence(axis_title(options.axis))
    return f"{metric.title} over {over}{where}: {bands_title(bands)}, {runs}.{smooth}{thin}"


def _counts(runs: Mapping[str, Iterable[int]]) -> str:
    """Numbers of runs by label: "n = 5 runs", or "n = 5 runs (vdn: 3 to 5 runs)", the most common first."""
    found = {label: sorted(counts) for label, counts in runs.items()}
    texts = {label: _runs(counts[0], counts[-1]) for label, counts in found.items() if counts}
    if not texts:
        return "n = 0 runs"
    common, _ = Counter(texts.values()).most_common(1)[0]
    others = ", ".join(f"{label}: {text}" for label, text in texts.items() if text != common)
    return f"n = {common}" + (f" ({others})" if others else "")


def _runs(least: int, most: int) -> str:
    return f"{least} to {most} runs" if least < most else "1 run" if most == 1 else f"{most} runs"


def _listed(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
