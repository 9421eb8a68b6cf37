"""A refused file of another program's names the presets that may equal it."""

import re

import pytest

from main import main
from utils.config.merging import CONFIG_DIR

NAMED = "Presets that equal other programs' files of this name"


def answer(capsys, *words):
    assert main(["print_config", *words, "--env-config=two_step"]) == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("dop", "off_buffer_size: 5000", f"unknown key 'off_buffer_size'.* {NAMED}: pymarl2_dop\\."),
        (
            "happo",
            "learner: happo_learner\ncritic_type: happo_critic",
            f"learner=happo_learner cannot be honoured.* {NAMED}: pymarlzoo_happo\\.",
        ),
        ("vdn", "mac: n_mac", f"Unknown controller 'n_mac'.* {NAMED}: epymarl_vdn, pymarl2_vdn, pymarl3_vdn, "),
    ],
)
def test_presets_of_its_name_are_named(tmp_path, capsys, name, content, named):
    path = tmp_path / f"{name}.yaml"
    path.write_text(f"{content}\n")
    assert re.search(named, answer(capsys, f"--config={path}"))


@pytest.mark.parametrize("words", [["lr=-1"], ["learnign_rate=1"]])
def test_other_mistakes_are_not_the_files(tmp_path, capsys, words):
    path = tmp_path / "qmix.yaml"
    path.write_text((CONFIG_DIR / "algs" / "qmix.yaml").read_text())
    for config in (path, "qmix"):
        assert main(["print_config", f"--config={config}", "--env-config=two_step", "with", *words]) == 2
        assert NAMED not in capsys.readouterr().err
