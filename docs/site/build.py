"""`make docs`: the pages of docs/ as a site, with a page for each algorithm and for the programming interface.

Usage: python docs/site/build.py [FOLDER [PRESET...]]     (default: build/site; the front page is FOLDER/index.html)

With names of presets, only these have pages: for a quick look.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "src"))

import algorithms  # noqa: E402 - of this folder
import notebooks  # noqa: E402

from utils.config.merging import config_names, parameter_names  # noqa: E402

DOCS, SITE = ROOT / "docs", ROOT / "docs" / "site"
# the classes of the programming interface by page
INTERFACE = {
    "import muster": [
        "muster.training:train",
        "muster.trained:Run",
        "muster.policy:load",
        "muster.policy:Policy",
        "muster.making:make",
        "experiment.callbacks:Callback",
    ],
    "Batches and buffers": ["components.episode_buffer:EpisodeBatch", "components.episode_buffer:ReplayBuffer"],
    "Environments": [
        "envs.multiagentenv:MultiAgentEnv",
        "vector_envs.contract:BatchedEnv",
        "envs.contract.fields:FieldSpec",
    ],
    "Controllers": ["controllers.basic_controller:BasicMAC"],
    "Learners": [
        "learners.q_learner:QLearner",
        "learners.ppo_learner:PPOLearner",
        "learners.actor_critic:ActorCriticLearner",
    ],
    "Registries": ["utils.config.registry:Registry", "utils.config.options:Option"],
}


def build(target: Path, presets: Sequence[str] = ()) -> int:
    """Write the site to a folder, with pages of all `presets` or of these; what Sphinx returned, 0 without warnings."""
    pages = target.with_name(f"{target.name}_pages")
    for folder in (pages, target):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("site", "presets.*"))
    (pages / "index.md").write_text(_rooted((ROOT / "README.md").read_text()))
    for page in pages.rglob("*.md"):
        page.write_text(_linked(page.read_text()))
    notebooks.write_notebooks(ROOT / "examples", pages / "notebooks")
    algorithms.write_pages(pages / "algorithms", _documented, presets)
    _write_interface(pages / "api")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-c", str(SITE), pages, target]
    return subprocess.run(command, check=False).returncode


def _rooted(readme: str) -> str:
    """The README as a page of docs/: its links lead from there."""
    return re.sub(r"\]\((?!https?:|#)(docs/)?", lambda match: "](" if match[1] else "](../", readme)


def _linked(text: str) -> str:
    """A page whose links to files outside docs/ are their names, since the site has no such files."""
    text = notebooks.linked_to_notebooks(text.replace("](../README.md", "](index.md"))
    return re.sub(r"\[([^\]]+)\]\((\.\./)+[^)]*\)", r"\1", text)


def _write_interface(folder: Path) -> None:
    folder.mkdir()
    (folder / "index.md").write_text("# Programming interface\n\nPyMARL's import paths, with `src` on the path.\n")
    for title, names in INTERFACE.items():
        page = re.sub(r"\W+", "_", title.lower())
        (folder / f"{page}.md").write_text("\n\n".join([f"# {title}", *map(_documented, names)]) + "\n")


def _documented(target: str, whole: bool = True) -> str:
    """The docstrings of `module:name`, of a class with its methods; not `whole`: not indexed, as another page does."""
    name = target.replace(":", ".")
    if target.partition(":")[2].islower():
        return f"```{{eval-rst}}\n.. autofunction:: {name}\n```"
    options = ":members:" if whole else ":no-index:\n   :members: train"
    return f"```{{eval-rst}}\n.. autoclass:: {name}\n   {options}\n```"


def main(arguments: Sequence[str]) -> int:
    """See the module."""
    folder, *presets = arguments or ["build/site"]
    if unknown := set(presets) - {*config_names("algs"), *parameter_names()}:
        print(
            f"error: there is no preset {', '.join(sorted(unknown))}; ./muster list algorithms has all.",
            file=sys.stderr,
        )
        return 2
    code = build(Path(folder).resolve(), presets)
    print(f"The site is in {folder}: open {folder}/index.html" if code == 0 else "Sphinx found faults, see above.")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
