"""Every command of main.py in README and docs/ is accepted as before a run, and the suite on its page expands."""

import contextlib
import re
import subprocess
import sys

import pytest

import suite
from cli.verbs import COMMAND, VERBS, main_words, run_program
from main import main
from standins import ROOT
from utils.command_line import OptionParser

PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*.md"))]
QUICK = ("README.md", "docs/from_pymarl.md", "docs/runs.md", "docs/configs.md")
# what stands for something of the reader's: RUN, <token>, $seed, mine.py
PLACEHOLDER = re.compile(r"\b(RUN|FILE|PATH|FOLDER|NAME|KEY)\b|<|\$|\.\.\.|\b(mine|mygym)\b")
# a shell would do more than pass words on
MORE = re.compile(r"[;&`>]|\s\|\s")
# a line that starts a program of ours, and the word that is it
OURS = re.compile(r"(?:^|\s)(?:\./muster|(?:python3? )?src/\w+\.py)\b")
# they need a run, or have a page of their own
OF_RUNS = ("--resume", "--evaluate", "--export", "--custom", "--help")
# refusals that are none of the command's: a package, a game or a file that only the reader has
ABSENT = re.compile(
    r"not installed|No module named|[Tt]here is no (config )?file|is missing; it must be the file|No such file"
    r"|no such folder"
)


def lines(page):
    """The command lines of ours in a page: of `./muster`, or as PyMARL types them; of each its whole text and words.

    Words are those that the shell passes on, without the program; None if the line says more than a command.
    """
    for block in re.findall(r"^ *```bash\n(.*?)^ *```", (ROOT / page).read_text(), re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            command = line.partition(" #")[0].strip()
            if not OURS.search(command):
                continue
            yield command, None if MORE.search(command) or PLACEHOLDER.search(command) else words_of(command)


def inline(page):
    """The commands of `./muster` within the sentences and tables of a page."""
    text = re.sub(r"^ *```.*?^ *```", "", (ROOT / page).read_text(), flags=re.M | re.S)
    return re.findall(r"`(\./muster [^`\n]+)`", text)


def words_of(command):
    """The words of a command line without the program, as the shell passes them on."""
    shell = ["bash", "-fc", f"printf '%s\\0' {command}"]
    words = subprocess.run(shell, capture_output=True, text=True, check=True).stdout.split("\0")[:-1]
    while not OURS.match(words.pop(0)):
        pass
    return words


def commands(page):
    """The words of every call of main.py in a page; a verb of the command is the option that it stands for."""
    for command, words in lines(page):
        if words is not None:
            words = main_words(words) if "./muster" in command or "src/main.py" in command else None
        if words is not None and not any(word.startswith(OF_RUNS) for word in words):
            yield words


@pytest.mark.parametrize(
    "page", [page if page in QUICK else pytest.param(page, marks=pytest.mark.slow) for page in PAGES]
)
def test_commands_are_accepted(page, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    for words in commands(page):
        shows = "print_config" in words or "--list" in words
        with contextlib.redirect_stderr(sys.stdout):
            code = main(words if shows else ["print_config", *words])
        out = capsys.readouterr().out
        assert code == 0 or ABSENT.search(out), f"{' '.join(words)}\n{out[-1000:]}"


@pytest.mark.parametrize("page", PAGES)
def test_every_line_of_ours_is_found_and_its_verb_exists(page):
    found = list(lines(page))
    starts = re.findall(r"^\./muster\b", (ROOT / page).read_text(), re.M)
    assert sum(command.startswith("./muster") for command, _ in found) >= len(starts)
    for command, words in found:
        if words is not None and "./muster" in command:
            assert main_words(words) is not None or words[0] in VERBS, command


class Parsed(Exception):
    """The options of a program are right."""


@pytest.mark.slow
def test_the_options_of_verbs_exist(monkeypatch, capsys):
    """Of the other programs: their own parsers take the command lines of all pages."""
    parse = OptionParser.parse

    def only_parse(parser, words):
        parse(parser, words)
        raise Parsed

    monkeypatch.setattr(OptionParser, "parse", only_parse)
    checked = 0
    for page in PAGES:
        for command in [*(command for command, _ in lines(page)), *inline(page)]:
            command = re.sub(r"(?<=[= ])[nN]\b", "1", re.sub(r"<[^>]*>", "X", re.sub(r" \[--[^]]*\]", "", command)))
            if "./muster" not in command or MORE.search(command) or "..." in command or "$" in command:
                continue
            words = words_of(command)
            if main_words(words) is None and VERBS[words[0]].program != COMMAND and words[1:]:
                with contextlib.suppress(Parsed):
                    run_program(words)
                    error = capsys.readouterr().err
                    # a sentence may name a command, or an option, without what comes after it
                    assert re.search("arguments are required|expected (at least )?one argument", error), (
                        f"{page}: {command}\n{error}"
                    )
                checked += 1
    # 95 in November 2026
    assert checked >= 90


def test_there_are_commands():
    # 116 in November 2026
    assert sum(len(list(commands(page))) for page in PAGES) >= 116
    assert ["--config=qmix", "--env-config=two_step", "with", "t_max=5000", "seed=1"] in list(commands("README.md"))


def test_the_example_of_a_suite_expands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "suites.md").read_text()
    path = tmp_path / "rates.yaml"
    path.write_text(re.search(r"^## The file\n+```yaml\n(.*?)^```", page, re.M | re.S)[1])
    assert suite.main(["run", str(path), "--dry-run"]) == 0
    assert capsys.readouterr().out.count("qmix_smac+low+narrow-3m-s") == 5
