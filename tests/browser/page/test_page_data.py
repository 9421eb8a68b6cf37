"""The data set that a run has learned from: the card in its view."""

import pytest

from browser.figures.data import returns_histogram
from browser.page.run import view as view
from page_views import context_of, text_of
from results_folders import write_run

SAID = {
    "path": "data/3m_good",
    "format": "recording",
    "episodes": 840,
    "transitions": 20212,
    "return_mean": 18.25,
    "return_std": 4.5,
    "return_counts": [3, 0, 837],
    "return_edges": [4.0, 9.0, 14.0, 20.0],
    "sha256": "ab" * 32,
}


def page(tmp_path, **changes):
    write_run(tmp_path, 1, info={"unique_token": "t", "dataset": SAID | changes})
    return text_of(view.layout(context_of(tmp_path), {"run": "1"}))


def test_a_run_shows_its_data(tmp_path):
    text = page(tmp_path)
    for part in ("'Data set'", "data/3m_good", "840", "20,212", "18.25 ± 4.5", "ab" * 32, "data-returns"):
        assert part in text, part


def test_a_run_that_played_shows_none(tmp_path):
    write_run(tmp_path, 1, info={"unique_token": "t"})
    assert "Data set" not in text_of(view.layout(context_of(tmp_path), {"run": "1"}))


@pytest.mark.parametrize(
    "changes",
    [
        {"return_counts": "many"},
        {"return_counts": [1, "two", 3]},
        {"return_edges": [1.0]},
        {"return_counts": ["x", 2, 3], "return_edges": [0.0, 1.0, 2.0, "y"]},
        {"return_edges": [0.0, 1.0, 2.0, float("inf")]},
    ],
)
def test_what_a_strangers_record_says_is_not_drawn_unless_it_is_numbers(tmp_path, changes):
    text = page(tmp_path, **changes)
    assert "20,212" in text and "data-returns" not in text


def test_a_record_of_something_else_is_no_fault(tmp_path):
    assert "Data set" in page(tmp_path, path=7, episodes="x", return_mean=None, sha256=[])


def test_each_bar_is_as_wide_as_its_bin():
    (bars,) = returns_histogram([3, 0, 837], [4.0, 9.0, 14.0, 20.0]).data
    assert list(bars.x) == [6.5, 11.5, 17] and list(bars.width) == [5, 5, 6] and list(bars.y) == [3, 0, 837]
