"""The command `muster`: its verbs, the words that messages use, and completion."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.help import page
from cli.verbs import COMMAND, VERBS, completion_script, main_words, run_program, verb_lines
from utils import own_commands
from utils.errors import ConfigError
from utils.own_commands import as_typed

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def by_muster(monkeypatch):
    monkeypatch.setenv(own_commands.VARIABLE, "muster")


def test_the_help_page_names_each_verb_once(monkeypatch):
    """Its lines are no commands, whose words would be those that were typed."""
    monkeypatch.setenv(own_commands.VARIABLE, "/home/me/muster")
    typed = as_typed(verb_lines(by_verbs=True))
    assert [line.split()[0] for line in typed.splitlines()] == [
        name for name, verb in VERBS.items() if verb.description
    ]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("resume latest with t_max=9", "--resume=latest with t_max=9"),
        ("evaluate 3 --model=newest", "--evaluate=3 --model=newest"),
        ("list", "--list"),
        ("list learner", "--list=learner"),
        ("--config=qmix --env-config=two_step", "--config=qmix --env-config=two_step"),
        ("resume --help", "--help"),
        ("print_config --config=qmix", "print_config --config=qmix"),
        ("", ""),
    ],
)
def test_verbs_of_main_are_its_options(typed, words):
    assert main_words(typed.split()) == words.split()


@pytest.mark.slow
def test_packages_are_installed_beside_muster(tmp_path):
    """By the pip of the command's own Python, wherever the shell's pip is from, and from any folder."""
    command = [sys.executable, str(CHECKOUT / "src" / "command.py"), "pip"]
    options = {"capture_output": True, "text": True, "env": {**os.environ, "PATH": os.defpath}, "cwd": tmp_path}
    done = subprocess.run([*command, "--version"], **options)
    assert done.returncode == 0 and f"{sys.prefix}/" in done.stdout
    done = subprocess.run(
        [*command, "install", "--dry-run", "--no-index", "-r", "requirements-completion.txt"], **options
    )
    assert "Could not open requirements file" not in done.stderr, done.stderr
    done = subprocess.run([*command, "install", "--dry-run", "--no-index", "-r", "requirements-lacking.txt"], **options)
    assert "Could not open requirements file" in done.stderr and done.returncode != 0


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_completion_says_how_a_shell_gets_it(by_muster, word):
    assert 'eval "$(muster completion bash)"' in completion_script([word])


def test_other_verbs_are_programs_and_unknown_ones_are_refused():
    for name, verb in VERBS.items():
        assert verb.option or main_words([name]) is None
        assert (CHECKOUT / "src" / f"{verb.program}.py").is_file()
    with pytest.raises(ConfigError, match=r"no command 'wach'. Did you mean 'watch'\?"):
        main_words(["wach", "latest"])
    with pytest.raises(ConfigError, match="resume needs a run"):
        main_words(["resume", "with", "t_max=9"])


def test_the_page_of_the_command_has_all_verbs(by_muster):
    shown = as_typed(page())
    assert len(shown.splitlines()) <= 57 and max(map(len, shown.splitlines())) <= 80
    assert "src/" not in shown and all(re.search(rf"^ .*\b{name}\b", shown, re.MULTILINE) for name in VERBS)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, verb in VERBS.items() if not verb.option and verb.program != COMMAND])
def test_the_page_of_each_verb_has_the_words_that_were_typed(name, by_muster, capsys):
    with pytest.raises(SystemExit):
        sys.exit(run_program([name, "--help"]))
    shown = capsys.readouterr().out
    assert re.search(rf"muster {name}\b(?!_)", shown)
    assert re.findall(rf"src/|\b(?:main|{'|'.join(VERBS)})\.py\b|\bpython \w+", shown) == []


TEXTS = {
    "python src/watch.py latest": "muster watch latest",
    "Resume with: python src/main.py --resume='a b' with x=1": "Resume with: muster resume 'a b' with x=1",
    "python src/main.py --list lbf shows": "muster list lbf shows",
    "python src/main.py --config=qmix": "muster --config=qmix",
    "make browse RESULTS=there": "muster browse there",
    "make browse     shows": "muster browse     shows",
    "See python src/suite.py run --help.": "See muster suite run --help.",
    "suite.py tables needs": "muster suite tables needs",
    "src/watch.py plays": "muster watch plays",
    "with: pip install -r requirements-envs.txt": "with: muster pip install -r requirements-envs.txt",
}
OTHERS = ["there is no file /home/me/play.py", "plugins=watch.py", "'main.py'", ".venv/bin/python -m pip install six"]


def test_messages_have_the_words_that_were_typed(monkeypatch):
    assert [as_typed(text) for text in TEXTS] == list(TEXTS)
    monkeypatch.setenv(own_commands.VARIABLE, "muster")
    assert {text: as_typed(text) for text in TEXTS} == TEXTS
    assert [as_typed(text) for text in TEXTS.values()] == [*TEXTS.values()]
    assert str(ConfigError("See python src/suite.py run --help.")) == "See muster suite run --help."
    assert [as_typed(text) for text in OTHERS] == OTHERS


@pytest.mark.slow
@pytest.mark.skipif(not (CHECKOUT / ".venv/bin/python").exists(), reason="the script would set .venv up")
def test_the_script_of_the_checkout_runs_the_verbs_and_names_itself(tmp_path):
    (tmp_path / "muster").symlink_to(CHECKOUT / "muster")
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = [
        subprocess.run([name, "wach"], capture_output=True, text=True, env=environment, cwd=tmp_path)
        for name in ("muster", "./muster")
    ]
    assert [one.returncode for one in done] == [2, 2]
    assert "See muster --help." in done[0].stderr and "See ./muster --help." in done[1].stderr
    environment["MUSTER_PYTHON"] = "no_such_python"
    assert subprocess.run(["./muster"], capture_output=True, env=environment, cwd=tmp_path).returncode == 127
    environment["MUSTER_PYTHON"] = sys.executable
    told = subprocess.run(["muster", "watch", "x"], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert told.returncode == 2 and "of muster, local_results_path=FOLDER" in told.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("muster wat", "watch"),
        ("muster --config=qmix_fas", "--config=qmix_fast"),
        ("muster --config qmix --env-config two_s", "two_step"),
        ("muster suite run skirmish_q", "skirmish_quick"),
        ("muster suite esti", "estimate"),
        ("muster watch --no-o", "--no-open"),
        ("muster resume la", "latest"),
        ("muster --config=qmix with use_cuda=T", "use_cuda=True"),
    ],
)
def test_a_shell_completes_verbs_options_names_and_keys(line, offered, tmp_path):
    pytest.importorskip("argcomplete")
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n"}
    answer = tmp_path / "answer"
    asked["_ARGCOMPLETE_STDOUT_FILENAME"] = str(answer)
    command = [sys.executable, str(CHECKOUT / "src" / "command.py")]
    subprocess.run(command, env={**os.environ, **asked}, cwd=tmp_path, check=True, capture_output=True)
    assert [word.strip() for word in answer.read_text().split("\n")] == [offered]
