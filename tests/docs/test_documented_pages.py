"""The code blocks of docs/ run as they are written."""

import math
import re
import subprocess
import sys

import pytest
import torch as th

from cli.reference import option_help
from learners import REGISTRY
from learners.q_learner import QLearner
from modules import mixers
from modules.agents.agent import Agent
from muster.testing import check_agent
from run import run
from standins import ROOT
from utils.config.traits import traits_of

CONTENTS = (ROOT / "docs" / "site" / "_toc.yml").read_text()


def blocks(page, language):
    """The contents of a page's code blocks in one language."""
    text = (ROOT / "docs" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


@pytest.mark.slow
def test_the_page_about_python_runs_from_top_to_bottom(tmp_path):
    code = "\n".join(blocks("python_api.md", "python")).replace('"src"', repr(str(ROOT / "src")))
    # Sacred looks for the file that the program is
    (tmp_path / "page.py").write_text(code)
    command = [sys.executable, "page.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Did you mean 'game'" in done.stdout
    assert "two_step 3 COMPLETED" in done.stdout


def test_learners_get_the_inputs_that_their_page_lists(monkeypatch, tmp_path):
    """The tables of docs/own_learner.md: attributes of args, and fields of a batch with shapes and types."""
    seen = []

    class Looking(QLearner):
        def train(self, batch, t_env, episode_num):
            seen.append((self.args, batch))

    monkeypatch.setattr(REGISTRY, "_entries", dict(REGISTRY._entries))
    REGISTRY["looking"] = Looking
    config = {"env": "two_step", "learner": "looking", "t_max": 80, "test_nepisode": 1, "batch_size": 4}
    run(config | {"use_cuda": False, "local_results_path": str(tmp_path)})
    args, batch = seen[0]
    page = (ROOT / "docs" / "own_learner.md").read_text()
    names, fields = page.split("| attribute |")[1].split("| field |")
    for name in re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", names, re.M))):
        assert hasattr(args, name), name
    sizes = {"n": args.n_agents, "A": args.n_actions, "state_shape": args.state_shape}
    sizes |= {"B": 4, "T + 1": batch.max_seq_length, "1": 1, "obs_shape": batch["obs"].shape[-1]}
    rows = re.findall(r"^\| `(\w+)` \| \[(.*?)\] \| (\w+) \|", fields, re.M)
    assert {name for name, *_ in rows} == set(batch.scheme)
    for name, shape, dtype in rows:
        assert batch[name].shape == tuple(sizes[size] for size in shape.split(", ")), name
        assert str(batch[name].dtype) == f"torch.{dtype}", name


def test_the_table_of_traits_has_all_of_the_parts_that_a_page_is_for():
    page = (ROOT / "docs" / "own_learner.md").read_text()
    rows = page.split("| trait |")[1].split("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", rows, re.M))))
    kinds = ("learner", "mixer", "agent", "controller", "action selector", "runner", "buffer")
    assert {trait for kind in kinds for trait in traits_of(kind)} == named


def test_the_agent_of_parts_computes(monkeypatch):
    """docs/own_learner.md shows it whole."""
    code = next(code for code in blocks("own_learner.md", "python") if "TwoPartAgent" in code)
    names = {"math": math, "nn": th.nn, "F": th.nn.functional, "th": th, "Agent": Agent}
    exec(code, names)
    check_agent(names["TwoPartAgent"])


def test_a_mixer_is_added_as_the_page_says(monkeypatch, tmp_path):
    monkeypatch.setattr(mixers.REGISTRY, "_entries", dict(mixers.REGISTRY._entries))
    (code,) = blocks("from_pymarl.md", "python")
    path = tmp_path / "my_mixer.py"
    path.write_text(code)
    config = {"env": "two_step", "plugins": [str(path)], "mixer": "halved", "t_max": 80, "test_nepisode": 1}
    returned = run(config | {"use_cuda": False, "local_results_path": str(tmp_path)})
    assert returned is not None


# sections of measurements, which come after all that one has to know for using what they are about
EVIDENCE = {
    "Measured",
    "Speed",
    "Learning on Skirmish",
    "How soon",
    "Cost of a checkpoint",
    "Cost of the timer",
    "Soak test",
    "How the rules were tried",
}
GUIDES = ("which_algorithm", "actor_critic", "pqn", "off_policy")


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_measurements_stand_after_the_usage(page):
    """Pages of evidence aside: these are listed as such in docs/site/_toc.yml."""
    evidence = CONTENTS.split("caption: Evidence")[1].split("caption:")[0]
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.M | re.S)
    titles = re.findall(r"^## (.*)", text, re.M)
    first = next((i for i, title in enumerate(titles) if title in EVIDENCE), len(titles))
    if f"{{file: {page.stem}}}" not in evidence:
        assert set(titles[first:]) <= EVIDENCE


@pytest.mark.parametrize("page", GUIDES)
def test_guides_of_algorithms_say_which_keys_to_set_first(page):
    """The keys are declared."""
    section = (ROOT / "docs" / f"{page}.md").read_text().split("## What to set first")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.M)
    assert len(rows) >= 7
    for key in re.findall(r"`([\w.]+)`", " ".join(rows)):
        assert option_help(key)


def test_every_family_of_environments_has_a_small_picture_or_says_why_not():
    part = CONTENTS.split("caption: Environments")[1].split("caption:")[0]
    for name in re.findall(r"^ {6}- (?:\{file: |file: )(\w+)", part, re.M)[1:]:
        text = (ROOT / "docs" / f"{name}.md").read_text()
        pictures = re.findall(r"!\[([^\]]{20,})\]\((\S+)\)", text)
        assert pictures or "does not draw" in text, f"{name}: no picture with a description"
        assert all((ROOT / "docs" / file).stat().st_size < 60_000 for _, file in pictures if "pictures/" in file), name


def _anchors(page):
    """The anchors that a page's headings get."""
    headings = re.findall(r"^#+ (.*)", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page", ["README.md", "CHANGELOG.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]
)
def test_links_lead_somewhere(page):
    path = ROOT / page
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        name, _, anchor = target.partition("#")
        if "://" not in target:
            led_to = path.parent / name if name else path
            assert led_to.exists(), target
            assert not anchor or anchor in _anchors(led_to), target
