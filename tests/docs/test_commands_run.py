"""The commands of the README and of the tutorials do what their pages say, on a small budget."""

import re
from pathlib import Path

import pytest
from test_documented_commands import ABSENT, MORE, PLACEHOLDER, inline, lines, words_of

from cli.verbs import main_words, run_program
from forked import run_command
from standins import ROOT
from utils.files.yaml_files import load_yaml

pytestmark = pytest.mark.slow

CONTENTS = {part["caption"]: part["chapters"] for part in load_yaml(ROOT / "docs/site/_toc.yml")["parts"]}
PAGES = ["README.md", "docs/command.md", *(f"docs/{page['file']}.md" for page in CONTENTS["Tutorials"])]
# of a run: one or two rollouts
BUDGET = ["t_max=150", "test_nepisode=1", "batch_size=2", "use_cuda=False"]
LONGER = ["t_max=2100", "test_nepisode=1"]
# they wait for a person, train many runs, or install packages
OF_PEOPLE = ("browse", "play", "suite", "search", "pip", "completion")


def _on_a_budget(words: list[str]) -> list[str]:
    """A command line of main.py with a few steps only."""
    if words[0].startswith(("--list", "--help", "print_config")):
        return words
    budget = LONGER if words[0].startswith("--resume") else BUDGET
    return [*words, *(budget if "with" in words else ["with", *budget])]


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("docs", "config", "src"):
        Path(name).symlink_to(ROOT / name)
    ran = 0
    spans = [span for span in inline(page) if not MORE.search(span) and not PLACEHOLDER.search(span)]
    for command, words in [*lines(page), *((span, words_of(span)) for span in spans)]:
        if words is None or words[0] in OF_PEOPLE:
            continue
        of_main = main_words(words)
        if of_main is None:
            assert run_program([words[0], *(["--no-page"] if words[0] == "watch" else []), *words[1:]]) == 0, command
        else:
            done = run_command(*_on_a_budget(of_main), cwd=tmp_path)
            if done.returncode != 0:
                assert ABSENT.search(done.stderr), f"{command}\n{done.stderr[-2000:]}"
                continue
            others = ("--list", "--help", "--evaluate", "--validate", "print_config")
            trains = not any(word.startswith(others) for word in of_main)
            assert not trains or "Finished Training" in done.stdout, f"{command}\n{done.stdout[-2000:]}"
        ran += 1
    assert ran >= len(re.findall(r"^\./muster --config", (ROOT / page).read_text(), re.M)) // 2
