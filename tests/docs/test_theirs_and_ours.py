"""The pages for users of the five systems: what they know, what stands for it here, and the test that shows it."""

import re

import pytest

from standins import ROOT

PAGES = ("pymarl", "entity_gym", "dots", "digideep", "linesight")


@pytest.mark.parametrize("page", PAGES)
def test_every_row_names_tests_that_are_there(page):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    section = re.search(r"^## Theirs and ours\n(.*?)^## Left out\n", text, re.M | re.S)[1]
    tables = re.findall(r"((?:^\|.*\n)+)", section, re.M)
    assert tables
    for table in tables:
        head, line, *rows = table.splitlines()
        assert (head, line) == ("| theirs | ours | test |", "| --- | --- | --- |")
        for row in rows:
            *_, tests, end = re.split(r"(?<!\\)\|", row)
            assert end == ""
            named = re.findall(r"`(tests/[^`]*)`", tests)
            assert named and all((ROOT / path).exists() for path in named), row


@pytest.mark.parametrize("page", PAGES)
def test_what_is_left_out_has_a_reason(page):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    section = text[text.index("\n## Left out\n") :]
    bullets = re.findall(r"^- (.*(?:\n  .*)*)", section, re.M)
    assert bullets
    for bullet in bullets:
        assert re.match(r"\*\*[^*].*?\*\*", bullet, re.S) and re.search(r"\w{3}", bullet.rpartition("**")[2]), bullet
