"""The language of filters: what it keeps, and what it answers to mistakes."""

import pytest

from browser.filtering import RunFilter
from browser.reading import Results
from browser.reading.configs import config_keys
from browser.usual import metric_counts
from results_folders import write_log, write_run
from utils.errors import ConfigError

RUNS = (
    ("qmix_fast", 0.0005, "3m", 14.0, "COMPLETED"),
    ("qmix_slow", 0.00005, "8m", 5.0, "FAILED"),
    ("vdn", 0.01, "3m", 8.0, "COMPLETED"),
)


@pytest.fixture
def results(tmp_path):
    for number, (name, lr, map_name, score, status) in enumerate(RUNS, 1):
        config = {"name": name, "lr": lr, "env_args": {"map_name": map_name}, "seed": number, "double_q": number == 1}
        config["layers"] = [64, 64] if number == 1 else [32]
        write_run(tmp_path, number, config=config, status=status, info={"unique_token": f"r{number}"})
        rows = [(t, t, t, "test_return_mean", value) for t, value in ((0, score + 1), (10, score))]
        rows.append((0, 0, 0, "loss", float("nan") if number == 1 else 0.1))
        write_log(tmp_path, f"r{number}", rows)
    return Results(tmp_path, cache=None)


def filter_of(results, text):
    runs = results.runs()
    return RunFilter(text, results, config_keys(runs), lambda: metric_counts(results, runs))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", "123"),
        ("name == vdn", "3"),
        ("name == 'qmix*'", "12"),
        ("name != 'qmix*' or lr < 1e-4", "23"),
        ("1e-4 <= lr < 0.01", "1"),
        ("env_args.map_name in ['3m', '5m'] and not name == vdn", "1"),
        ("map not in ['3m']", "2"),
        ("last(test_return_mean) >= 8", "13"),
        ("best(test_return_mean) > 14", "1"),
        ("status == FAILED", "2"),
        ("double_q", "1"),
        ("double_q == False and seed > 2", "3"),
        ("seed == '2'", "2"),
        ("name < 5", ""),
        ("key('lr') == 0.01", "3"),
        ("layers == '[64, 64]'", "1"),
        ("layers in ['[32]', '[16]']", "23"),
        ("'qmix*' == name", "12"),
        ("lowest(loss) > 0", "23"),
    ],
)
def test_what_a_filter_keeps(results, text, kept):
    found = filter_of(results, text)
    assert "".join(sorted(run.id for run in results.runs() if found.keeps(run))) == kept


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lrr < 1", "'lrr', a key that no config has. Did you mean 'lr'?"),
        ("0 < lrr", "Did you mean 'lr'?"),
        ("map_name == 3", "Did you mean 'env_args.map_name'?"),
        ("last(test_retrun_mean) > 1", "Did you mean 'test_return_mean'?"),
        ("mean(loss) > 1", "no 'mean(...)'. Did you mean"),
        ("name = vdn", "Equality is ==."),
        ("lr <", "cannot be read"),
        ("lr + 1 < 2", "'lr + 1' is no value, key or statistic"),
        ("map in 3", "is no list"),
        ("__import__('os').system('x')", "is no value"),
        ("[x for x in lr]", "is no condition"),
        ("(" * 500 + "lr" + ")" * 500, "cannot be read"),
        ("a" + ".a" * 900, "too many parts within parts"),
        ("not " * 400 + "lr", "too many parts within parts"),
        ("lr+" * 600 + "1 > 2", "too many parts within parts"),
        ("not " * 1900 + "lr", "at most 2000 characters"),
        ("not " * 40 + "lr > 1", None),
    ],
)
def test_mistakes_are_named(results, text, message):
    if message is None:
        filter_of(results, text)
        return
    with pytest.raises(ConfigError) as refused:
        filter_of(results, text)
    assert message in str(refused.value)
