"""The page of every preset has what it is: command, parts, equations of its own settings, and a curve."""

import ast
import re
import shlex
import sys

import pytest

from browser.reading.curve_files import read_curves
from checks.options import declared
from cli.parameter_files import load_parameters
from learners import REGISTRY
from main import main
from standins import ROOT
from utils.config.merging import CONFIG_DIR, config_names, parameter_names

sys.path.append(str(ROOT / "docs" / "site"))
import algorithms
import equations

FIRST_RUNS = {run.algorithm: run for run in read_curves(ROOT / "docs" / "algorithms" / "presets.json").runs}


@pytest.mark.parametrize("name", config_names("algs"))
def test_every_preset_has_its_page(name):
    run = FIRST_RUNS[name]
    assert len(run.values) >= 5
    page = algorithms.page(name, "What it is.", [run], more_curves=False)
    assert re.search(r"```bash\n\./muster .*\n```", page) and f"{name}_first.png" in page
    for heading in ("## Parts", "## Keys that it sets", "## Equations", "### Symbols"):
        assert heading in page
    assert "```math" in page.partition("## Equations")[2].partition("### Symbols")[0]


@pytest.mark.parametrize("name", parameter_names())
def test_every_parameter_file_has_its_page(name):
    page = algorithms.page(name, "What it is.", [], more_curves=False)
    assert f"```bash\n./muster --config={name}\n```" in page and "## Equations" in page
    panel = load_parameters(name, CONFIG_DIR / "algs" / f"{name}.py").cpanel
    table = page.partition("## Its panel")[2].partition("## Parts")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| `(.*?)` \|", table, re.MULTILINE))
    assert {key: ast.literal_eval(rows[key]) for key in panel} == panel
    assert "| `lr` |" in page.partition("## Keys that it sets")[2] and "| `cpanel` |" not in page


@pytest.mark.slow
@pytest.mark.parametrize("name", config_names("algs"))
def test_the_command_of_every_page_is_accepted(name, capsys):
    words = shlex.split(algorithms.command(FIRST_RUNS[name]))
    assert words[0] == "./muster" and main(["print_config", *words[1:]]) == 0, capsys.readouterr().out[-1000:]


def test_equations_follow_the_settings():
    def page_of(name, **other):
        return equations.of_config(algorithms.config_of(name) | other, algorithms.EQUATIONS)

    assert "mixer: qmix" in page_of("qmix") and "mixer: vdn" not in page_of("qmix")
    assert r"\lambda" not in page_of("qmix") and r"\lambda" in page_of("qmix_fast")
    assert "\n| $\\lambda$ |" in page_of("qmix_fast") and "\n| $\\pi_a$ |" not in page_of("qmix")
    assert "eps_clip" in page_of("mappo") and "eps_clip" not in page_of("maa2c")
    assert "### Target networks" in page_of("qmix") and "### Target networks" not in page_of("pqn_qmix")
    assert "stops before an action that explored" in page_of("iqn")
    assert "has its own best action" not in page_of("iqn", double_q=True)
    assert r"\frac{1}{2}" in page_of("ddpg") and "target_noise_clip" in page_of("td3")


def test_every_learner_has_equations_and_every_condition_a_key():
    folder = algorithms.EQUATIONS
    assert set(equations.pages(folder)) == set(REGISTRY)
    options = declared()
    for path in folder.glob("*.md"):
        for key, _, value in equations.conditions(path.read_text()):
            assert key in options, f"{path.name}: {key}"
            choices = options[key].choices
            assert not choices or value in choices or value is None, f"{path.name}: {key}={value}"
