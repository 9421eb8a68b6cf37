"""Help and list: what they show, and how little they load."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from checks.registries import REGISTRIES
from cli.arguments import parse_arguments
from cli.help import page
from cli.listing import listing
from cli.presets import KINDS, PROGRAMS
from envs.skirmish.maps import map_names
from envs.skirmish.options import Options
from main import main
from own_parts import registries_restored
from utils.config.merging import config_names
from utils.errors import ConfigError
from utils.nearest import suggestion

MAIN = Path(__file__).resolve().parents[2] / "src" / "main.py"


def test_every_choice_is_listed_on_an_aligned_line_with_a_description():
    names = []
    for block in listing().split("\n\n"):
        lines = block.splitlines()[1:]
        assert len({len(line) - len(line[2:].split(maxsplit=1)[1]) for line in lines}) == 1, block
        names += [line.split()[0] for line in lines]
    for name in [*config_names("algs"), *config_names("envs"), *(n for r in REGISTRIES.values() for n in r)]:
        assert name in names


def test_help_fits_a_terminal_and_names_every_program():
    assert len(page().splitlines()) <= 57
    assert max(map(len, page().splitlines())) <= 80
    programs = {path.name for path in MAIN.parent.glob("*.py")} - {"run.py", "command.py"}
    assert len(programs) == 14
    for program in programs:
        assert f"python src/{program}" in page()
    for folder in ("runs/", "sacred/", "models/", "replays/", "tb_logs/"):
        assert folder in page()


@pytest.mark.parametrize("word", ["skirmish", "skirmish_v2_zerg"])
def test_every_map_of_skirmish_is_listed(word):
    text = listing(word)
    assert "(env_args.map_name=...)" in text
    assert [line.split()[0] for line in text.splitlines()[1:]] == map_names()
    assert re.search(r"5m_vs_6m +5 against 6, at most 70 steps", text)


def test_listings_of_one_thing():
    assert [line.split()[0] for line in listing("learner").splitlines()[1:]] == list(REGISTRIES["learner"])
    assert "climbing" in listing("matrix")
    assert "lists no maps" in listing("two_step")
    with pytest.raises(ConfigError, match="Did you mean 'skirmish'"):
        listing("skirmsh")


@pytest.mark.parametrize(
    ("words", "listed"), [(["--list"], ""), (["--list", "lbf"], "lbf"), (["--list=lbf"], "lbf"), (["--list", "-u"], "")]
)
def test_words_of_list(words, listed):
    parsed = parse_arguments(words)
    assert (parsed.action, parsed.asked) == ("list", listed)


def test_an_error_names_every_choice():
    names = [f"name{i}" for i in range(50)]
    text = suggestion("nothing", names)
    assert all(name in text for name in names) and " more" not in text
    with pytest.raises(ConfigError) as error:
        Options(map_name="3x")
    assert all(name in str(error.value) for name in map_names())


def test_no_arguments_print_the_help(tmp_path):
    done = subprocess.run([sys.executable, str(MAIN)], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, page(), "")


def test_pages_load_neither_torch_nor_sacred():
    code = "import sys; sys.path.insert(0, 'src'); from main import main; main(['--list']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=MAIN.parents[1], capture_output=True, text=True)
    loaded = done.stdout.splitlines()[-1]
    assert "'cli.listing'" in loaded
    for heavy in ("'torch'", "'sacred'", "'gymnasium'", "'cloudpickle'"):
        assert heavy not in loaded


def test_algorithms_are_listed_by_what_they_are():
    blocks = {block.splitlines()[0]: block.splitlines()[1:] for block in listing("algorithms").split("\n\n")}
    group = {line.split()[0]: title.partition(" (--config")[0] for title, lines in blocks.items() for line in lines}
    assert group["qplex"] == group["iql"] == KINDS["value decomposition"]
    assert group["mappo"] == group["ippo_lbf"] == group["enn_ppo"] == KINDS["policy gradients"]
    assert group["masac"] == KINDS["actor-critic"] and group["td3"] == group["trpo"] == KINDS["one agent"]
    assert group["tqc"] == group["ppo_recurrent"] == KINDS["one agent"] and group["ippo"] == KINDS["policy gradients"]
    assert group["tarmac"] == KINDS["communication"]
    assert group["epymarl_mappo"] == PROGRAMS["epymarl"]
    assert KINDS[None] not in group.values()


def test_algorithms_are_listed_alone():
    lines = listing("algorithms").splitlines()
    assert {*config_names("algs")} <= {line.split()[0] for line in lines if line.startswith("  ")}
    assert not any(line.startswith(("Environment", "Learners")) for line in lines)


def test_a_reader_that_has_seen_enough_is_no_error():
    listing_process = subprocess.Popen(
        [sys.executable, str(MAIN), "--list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    listing_process.stdout.close()  # as `| head -0` does
    assert listing_process.stderr.read() == b""
    assert listing_process.wait(timeout=120) == 0


def _page(capsys, *words):
    with registries_restored():
        assert main([*words]) == 0
    return capsys.readouterr().out


def test_pages_know_the_parts_of_plugins_that_the_command_names(tmp_path, capsys):
    example = "docs/examples/hysteretic"
    by_file = [f"--config={example}.yaml"]
    by_word = ["with", f"plugins=['{example}_learner.py']"]
    for words in (by_file, by_word):
        assert "read by  learner=hysteretic_learner" in _page(capsys, "--help", "hysteretic_beta", *words)
        assert "hysteretic_learner  Q-learning" in _page(capsys, "--list", "learner", *words)
    assert "hysteretic_beta=0.1" in _page(capsys, "--list", "learner=hysteretic_learner", *by_file)
    assert main(["--help", "hysteretic_betta"]) == 2
    assert "for a plugin's, name it, too: --config=FILE" in capsys.readouterr().err


def test_a_part_of_which_nothing_is_declared_says_so(tmp_path, capsys):
    (tmp_path / "silent.py").write_text("from modules.mixers import REGISTRY\nREGISTRY['silent'] = print\n")
    text = _page(capsys, "--list", "mixer=silent", "with", f"plugins=['{tmp_path}/silent.py']")
    assert "declares no keys of its own, and may read any" in text
