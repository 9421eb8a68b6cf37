"""Mutants that the code has outgrown are noticed at once, not when somebody makes them."""

from pathlib import Path

import collectors_catalog
import epymarl_catalog
import pytest
import teams_catalog
import transitions_catalog
from catalog import MUTANTS, Edit

ROOT = Path(__file__).resolve().parents[2]
ALL = (
    *MUTANTS,
    *teams_catalog.MUTANTS,
    *epymarl_catalog.MUTANTS,
    *transitions_catalog.MUTANTS,
    *collectors_catalog.MUTANTS,
)


@pytest.fixture(scope="module")
def sources():
    return [path.read_text() for path in (ROOT / "src").rglob("*.py")]


def test_what_they_edit_is_found_once(sources):
    edits = [mutant for mutant in ALL if isinstance(mutant, Edit)]
    assert len(edits) > 50
    assert [edit.name for edit in edits if sum(source.count(edit.old) for source in sources) != 1] == []


def test_the_tests_that_they_name_exist():
    paths = {test.partition("::")[0] for mutant in ALL for test in mutant.tests if test.startswith("tests/")}
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_they_have_different_names():
    names = [mutant.name for mutant in ALL]
    assert sorted(set(names)) == sorted(names)
