"""The page about a run that `summary=True` leaves."""

import importlib
import re

import pytest

from cli.summary import check_summary
from main import main
from utils.errors import ConfigError

RUN = ["--config=vdn", "--env-config=two_step", "with", "t_max=200", "batch_size=4", "buffer_size=16", "seed=7"]


@pytest.mark.slow
def test_the_page_of_a_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [*RUN, "summary=True", "test_interval=50", "label='<script>alert(1)</script>'"]
    assert main(words) == 0
    (page,) = tmp_path.glob("results/runs/*/summary.html")
    assert f"Summary: {page.relative_to(tmp_path)}" in capsys.readouterr().out
    text = page.read_text()
    assert page.parent.name in text
    (row,) = re.findall(r"<td>test_return_mean</td><td[^>]*>([^<]*)</td>", re.sub(r"\s*\n\s*", "", text))
    log = (page.parent / "metrics.csv").read_text().splitlines()
    last = [line.split(",")[4] for line in log if ",test_return_mean," in line][-1]
    assert float(row) == float(last)
    assert "alert(1)" in text
    assert "<script>alert(1)" not in text


def test_missing_packages_are_reported_before_anything_starts(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)

    check_summary({"summary": True})
    monkeypatch.setattr(importlib, "import_module", missing)
    check_summary({"summary": False})
    with pytest.raises(ConfigError, match=r"summary=True needs the package 'scipy'.*requirements-browser\.txt"):
        check_summary({"summary": True})


def test_an_unobserved_run_has_no_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([*RUN[:2], "-u", *RUN[2:], "summary=True"]) == 0
    assert list(tmp_path.iterdir()) == []
