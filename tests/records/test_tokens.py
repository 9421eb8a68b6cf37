"""Names of runs are names of folders, whatever an experiment is called."""

from datetime import datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from records.layout import RUN_NAME
from records.tokens import run_token

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
    assert RUN_NAME.fullmatch(token)
    assert Path(token).name == token
    assert len(token.encode()) <= 200
    assert token != run_token(name, seed, scenario, NOW + timedelta(microseconds=1))


def test_long_names_are_cut_between_characters():
    token = run_token("实" * 300, 1, "3m", NOW)
    assert set(token.partition("_")[0]) == {"实"}
    assert len(token.encode()) > 190
