"""The metric log against Python's csv module, torn lines, and runs that went back."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.metric_rows import keys_of, last_values, read_rows, whole_lines

HEADER = "t_env,episode,seconds,key,value\n"
KEYS = ("loss", "test_return_mean", "return_mean")


def body_of(*lines):
    return whole_lines((HEADER + "".join(f"{line}\n" for line in lines)).encode())


def columns(rows):
    return np.stack(rows, axis=1).tolist()


steps = st.lists(st.integers(0, 10**9), unique=True, max_size=12).map(sorted)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(KEYS), steps), st.randoms())
def test_rows_are_those_of_the_csv_module(by_key, random):
    rows = sorted((t, key, random.choice([0.5, -1e-9, 3e12, float("inf")])) for key, ts in by_key.items() for t in ts)
    text = HEADER + "".join(f"{t},{t // 7},{t / 3},{key},{value}\n" for t, key, value in rows)
    expected = {}
    for row in csv.DictReader(io.StringIO(text)):
        numbers = [float(row[name]) for name in ("t_env", "episode", "seconds", "value")]
        expected.setdefault(row["key"], []).append(numbers)
    body = whole_lines(text.encode())
    for resumed in (False, True):
        assert {key: columns(found) for key, found in read_rows(body, KEYS, resumed).items()} == expected
    assert {key: columns(found) for key, found in read_rows(body).items()} == expected
    assert keys_of(body) == sorted(expected)
    assert last_values(body, KEYS) == (
        rows[-1][0] if rows else None,
        {key: found[-1][3] for key, found in expected.items()},
    )


def test_a_cut_at_any_byte_leaves_the_whole_lines():
    text = HEADER + "0,0,0.5,loss,1.25\n100,2,1.5,loss,nan\n200,4,2.5,loss,-inf\n"
    full = columns(read_rows(whole_lines(text.encode()), ["loss"])["loss"])
    for cut in range(len(text)):
        body = whole_lines(text[:cut].encode())
        if cut < len(HEADER):
            assert not body
            continue
        rows = read_rows(body, ["loss"]).get("loss")
        lines = text[:cut].count("\n") - 1
        assert (0 if rows is None else len(rows.t_env)) == lines
        if rows is not None:
            assert str(columns(rows)) == str(full[:lines])


def test_another_programs_file_is_no_log():
    assert whole_lines(b"step,loss\n1,2\n") is None
    assert whole_lines(b"") is None


def test_lines_torn_by_a_crash_are_left_out():
    """The next session appends behind the torn line."""
    body = body_of("0,0,0,loss,1", "10,1,1,loss,0.5e20,2,2,loss,3", "30,x,3,loss,4", "", "40,4,4,loss,5")
    for rows in (read_rows(body, ["loss"])["loss"], read_rows(body)["loss"], read_rows(body, ["loss"], True)["loss"]):
        assert columns(rows) == [[0, 0, 0, 1], [40, 4, 4, 5]]


def test_rows_that_a_resumed_run_logged_again_replace_the_earlier_ones():
    before = ["100,10,1,loss,1", "200,20,2,loss,2", "300,30,3,loss,3", "300,30,3,epsilon,0.3"]
    after = ["210,21,2.1,epsilon,0.7", "310,31,3.1,loss,4"]
    rows = read_rows(body_of(*before, *after), resumed=True)
    assert columns(rows["loss"]) == [[100, 10, 1, 1], [200, 20, 2, 2], [310, 31, 3.1, 4]]
    assert columns(rows["epsilon"]) == [[210, 21, 2.1, 0.7]]


def test_a_step_logged_twice_counts_once():
    rows = read_rows(body_of("100,10,1,loss,1", "100,10,1,loss,2"), ["loss"])["loss"]
    assert columns(rows) == [[100, 10, 1, 2]]


def test_keys_in_quotes_are_read():
    key = 'share of "a", b'
    body = body_of("1,1,1,loss,5", '2,2,2,"share of ""a"", b",6', "3,3,3,loss,7")
    assert keys_of(body) == ["loss", key] and last_values(body, [key]) == (3, {key: 6.0})
    for rows in (read_rows(body), read_rows(body, [key, "loss"]), read_rows(body, [key, "loss"], resumed=True)):
        assert columns(rows[key]) == [[2, 2, 2, 6]] and columns(rows["loss"]) == [[1, 1, 1, 5], [3, 3, 3, 7]]


def test_a_key_that_ends_like_another_is_not_mistaken():
    rows = read_rows(body_of("1,1,1,test_return_mean,5", "1,1,1,return_mean,6"), ["return_mean"])
    assert columns(rows["return_mean"]) == [[1, 1, 1, 6]]
