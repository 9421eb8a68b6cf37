"""Names for papers: what figures and tables call algorithms, maps and statistics (`--label NAME=TEXT`)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from browser.comparison import Comparison
from browser.report.content import Metric
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted


def check_labels(labels: Mapping[str, str], comparison: Comparison, keys: list[str]) -> None:
    """Refuse a name that nothing has, and two algorithms or two maps of one name.

    Raises:
        ConfigError: for either.
    """
    known = [*comparison.labels(), *comparison.maps, *keys]
    for name in labels:
        if name not in known:
            raise ConfigError(
                f"--label: neither an algorithm, a map nor a statistic is called '{quoted(name)}'."
                f"{suggestion(name, known, limit=20)}"
            )
    for names in (comparison.labels(), comparison.maps, keys):
        shown: dict[str, str] = {}
        for name in names:
            other = shown.setdefault(labels.get(name, name), name)
            if other != name:
                raise ConfigError(f"--label: '{quoted(other)}' and '{quoted(name)}' would have one name.")


def renamed(metric: Metric, labels: Mapping[str, str]) -> Metric:
    """A statistic whose algorithms and maps have these names; its key stays, and `title` is its name."""
    if not labels:
        return metric

    def named(name: str) -> str:
        return labels.get(name, name)

    def keys(table: Mapping[str, Any]) -> dict[str, Any]:
        return {named(name): value for name, value in table.items()}

    return replace(
        metric,
        title=labels.get(metric.key, metric.title),
        algorithms=[named(label) for label in metric.algorithms],
        curves={
            named(name): [replace(band, label=named(band.label)) for band in bands]
            for name, bands in metric.curves.items()
        },
        matrix={named(label): keys(cells) for label, cells in metric.matrix.items()},
        aggregates={how: keys(estimates) for how, estimates in metric.aggregates.items()},
        profiles=[replace(profile, label=named(profile.label)) for profile in metric.profiles],
        improvements=[(named(x), named(y), estimate) for x, y, estimate in metric.improvements],
    )
