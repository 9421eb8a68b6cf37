"""Addresses of the page: any text in them is harmless."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from browser.page.parts import address


def test_written_content_is_read_back():
    query = {"runs": ["qmix/3m/1", "2"], "metric": "a&b=c <x>", "empty": "", "none": None, "smoothing": 3}
    text = address.link("/compare", query)
    assert text.startswith("/compare?runs=qmix/3m/1,2&") and "<" not in text and "empty" not in text
    read = address.parse(text.removeprefix("/compare"))
    assert read == {"runs": "qmix/3m/1,2", "metric": "a&b=c <x>", "smoothing": "3"}
    assert address.names(read, "runs") == ["qmix/3m/1", "2"]
    assert address.link("/", {}) == "/"


@pytest.mark.slow
@given(st.text() | st.none())
def test_any_query_is_read(text):
    query = address.parse(text)
    wrong = []
    assert address.choice(query, "axis", ("steps", "episodes"), "steps", wrong) in ("steps", "episodes")
    assert 1 <= address.whole_number(query, "n", 1, 9, 1, wrong) <= 9


@pytest.mark.parametrize("text", ["0", "10", "-1", "1.5", "٣", "1e3", "9" * 400, "<script>"])
def test_invalid_numbers_are_reported_and_replaced(text):
    wrong = []
    assert address.whole_number({"n": text}, "n", 1, 9, 5, wrong) == 5
    assert len(wrong) == 1 and "from 1 to 9" in wrong[0] and len(wrong[0]) < 200


def test_a_choice_that_cannot_be_names_the_nearest():
    wrong = []
    assert address.choice({"axis": "step"}, "axis", ("steps", "episodes"), "episodes", wrong) == "episodes"
    assert wrong == ["There is no axis 'step'. Did you mean 'steps'? Allowed: episodes, steps."]
