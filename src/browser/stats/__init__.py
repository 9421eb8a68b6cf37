"""Comparing runs: groups, curves on common steps, aggregates over seeds and maps. Needs NumPy and SciPy.

groups = group_runs(runs, ["name", "env_args.map_name"])
band = curve_band(groups[0].label, [results.curves(run, [key])[key] for run in groups[0].runs])
"""
# ruff: noqa: F401 - names for users of this package

from browser.stats.aggregates import (
    AGGREGATES,
    FEWEST,
    Estimate,
    Profile,
    Scores,
    aggregate,
    best_on_maps,
    bootstrap,
    cells_of,
    iqm,
    mean_title,
    normalised,
    performance_profile,
    probability_of_improvement,
    score_matrix,
    spread_title,
)
from browser.stats.bands import BANDS, Aligned, Band, align, curve_band, smooth
from browser.stats.grouping import Group, group_runs, repeated_seeds
from browser.stats.marl_eval import to_marl_eval
from browser.stats.outcomes import best_value, final_value, reached, value_at
