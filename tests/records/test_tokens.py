"""Names of runs are names of folders, for any name of an experiment."""

from datetime import datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from records.tokens import is_token, map_of, parts_of, run_token

NOW = datetime(2026, 5, 4, 3, 2, 1, 7)
TEXT = st.text(st.characters(blacklist_categories=("Cs",)), max_size=400)


def test_usual_names_stay():
    assert run_token("qmix", 3, "3m", NOW) == "qmix_seed3_3m_2026-05-04_03-02-01-000007"
    assert run_token("my exp", 3, "mpe2.simple_spread_v3", NOW).startswith("my-exp_seed3_mpe2.simple_spread_v3_")


def test_paths_and_options_become_names():
    assert run_token("../../etc/passwd", 1, "/x/../y", NOW).startswith("etc-passwd_seed1_-x-..-y_2026")
    assert run_token("-rf", 1, "3m", NOW).startswith("rf_seed1")
    assert run_token("..", 1, "3m", NOW).startswith("run_seed1")


@given(TEXT, st.integers(0, 2**32 - 1), TEXT)
def test_any_name_is_one_of_a_file(name, seed, scenario):
    token = run_token(name, seed, scenario, NOW)
    assert is_token(token)
    assert Path(token).name == token
    assert len(token.encode()) <= 200
    assert token != run_token(name, seed, scenario, NOW + timedelta(microseconds=1))


def test_long_names_are_cut_between_characters():
    token = run_token("实" * 300, 1, "3m", NOW)
    assert set(token.partition("_")[0]) == {"实"}
    assert len(token.encode()) > 190


def test_a_token_has_the_parts_it_was_made_of():
    parts = parts_of(run_token("my_seed2", 3, "mpe2.simple_spread_v3", NOW))
    assert (parts.name, parts.seed, parts.map_name) == ("my", 2, "seed3_mpe2.simple_spread_v3"), "the first that fits"
    parts = parts_of(run_token("qmix", 3, "2s_vs_1sc", NOW))
    assert (parts.name, parts.seed, parts.map_name, parts.made) == ("qmix", 3, "2s_vs_1sc", NOW.astimezone())
    assert parts_of("qmix_seed3_3m_2026-05-04_03-02-01").made == NOW.replace(microsecond=0).astimezone()
    assert parts_of("qmix_seed3_3m_2026-15-04_03-02-01").made is None
    assert parts_of("mine") is None


def test_the_first_argument_that_names_a_scenario_counts():
    assert map_of("sc2", {"map_name": "3m", "key": "other"}) == "3m"
    assert map_of("mpe", {"map_name": "", "key": "spread"}) == "spread"
    assert map_of("own", {"scenario": 7}) == "7"
    assert map_of("two_step", {}) == "two_step"
    assert map_of("entities", {"environment": "MineSweeper"}) == "MineSweeper"


def test_several_maps_are_joined():
    assert map_of("skirmish", {"map_name": ["3m", "8m"]}) == "3m+8m"
    assert "_seed1_3m-8m_2026" in run_token("qmix", 1, "3m+8m", NOW)
