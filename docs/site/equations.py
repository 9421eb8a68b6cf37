"""The equations of a preset: the parts of the pages in docs/equations that its config uses.

A page names its learners in a comment, `<!-- learners: ppo_learner a2c_learner -->`. Behind a comment
`<!-- when: key=value, ... -->` stands what holds only for such configs, up to the next such comment, `<!-- always -->`
or heading. Comparisons are `=`, `!=`, `<=`, `>` and `~` (a list or text has it); values are YAML; a key that no chosen
part has is null.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "!=": lambda found, given: found != given,
    "<=": lambda found, given: _number(found) and found <= given,
    "=": lambda found, given: found == given,
    ">": lambda found, given: _number(found) and found > given,
    "~": lambda found, given: given in str(found),
}
LEARNERS = re.compile(r"^<!-- learners: (.*) -->\n", re.M)
CONDITION = re.compile(r"^<!-- (?:when: (.*)|always) -->\n", re.M)
FORMULAS = re.compile(r"```math\n(.*?)\n```|\$([^$\n]+)\$", re.S)
COMMON, SYMBOLS = "common.md", "symbols.md"


def pages(folder: Path) -> dict[str, Path]:
    """The page of each learner."""
    found = {}
    for path in sorted(folder.glob("*.md")):
        for line in LEARNERS.findall(path.read_text()):
            found |= dict.fromkeys(line.split(), path)
    return found


def conditions(text: str) -> list[tuple[str, str, Any]]:
    """All comparisons of a page: key, comparison, value."""
    return [comparison for line in CONDITION.findall(text) for comparison in _comparisons(line)]


def of_config(config: Mapping[str, Any], folder: Path) -> str:
    """The equations of a config, a page's part in Markdown, with the symbols that it has."""
    page = pages(folder)[config["learner"]]
    text = "\n\n".join(_selected(path.read_text(), config) for path in (page, folder / COMMON))
    text = re.sub(r"\s\[Symbols\]\(symbols\.md\)\.", "", text)
    return f"{text}\n\n### Symbols\n\n{_symbols(text, (folder / SYMBOLS).read_text())}"


def _selected(text: str, config: Mapping[str, Any]) -> str:
    """What holds for a config, without the title; sections that have nothing are left out."""
    body = LEARNERS.sub("", text).partition("\n")[2]
    sections = []
    for number, section in enumerate(re.split(r"^## ", body, flags=re.M)):
        heading, _, content = section.partition("\n") if number else ("", "", section)
        first, *rest = CONDITION.split(content)
        kept = [first, *(part for line, part in zip(rest[::2], rest[1::2], strict=True) if _holds(line, config))]
        if said := "\n\n".join(part.strip() for part in kept if part.strip()):
            sections.append(f"### {heading}\n\n{said}" if number else said)
    return "\n\n".join(sections if LEARNERS.search(text) else [part for part in sections if part.startswith("###")])


def _holds(line: str | None, config: Mapping[str, Any]) -> bool:
    return all(COMPARISONS[how](config.get(key), value) for key, how, value in _comparisons(line))


def _comparisons(line: str | None) -> list[tuple[str, str, Any]]:
    found = []
    for comparison in (line or "").split(", ") if line else ():
        key, how, value = re.fullmatch(r"(\w+)(!=|<=|=|>|~)(.+)", comparison).groups()
        found.append((key, how, yaml.safe_load(value)))
    return found


def _number(value: Any) -> bool:
    return isinstance(value, int | float)


def _symbols(text: str, table: str) -> str:
    """The rows of a table of symbols whose first symbol a text has."""
    head, _, rows = table[table.index("| symbol") :].partition("| --- | --- |\n")
    seen = "\n".join(block + inline for block, inline in FORMULAS.findall(text))
    found = (row for row in rows.splitlines() if row.startswith("|"))
    kept = [row for row in found if any(symbol in seen for symbol in _of_row(row))]
    return "\n".join([head.strip(), "| --- | --- |", *kept])


def _of_row(row: str) -> list[str]:
    """The symbols of a row, of `\\langle x \\rangle` the first part."""
    return [symbol.split()[0] for symbol in re.findall(r"\$([^$]+)\$", row.split("|")[1])]
