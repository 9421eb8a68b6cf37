"""`make docs`: the pages of docs/ as a site, with a page for each algorithm and for the programming interface.

Usage: python docs/site/build.py [FOLDER]     (default: build/site; the front page is FOLDER/index.html)
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "src"))

from checks.options import declared  # noqa: E402
from checks.registries import REGISTRIES  # noqa: E402
from cli.reference import as_word  # noqa: E402
from suites.tables.curves import RunCurve, curve_files  # noqa: E402
from utils.config.merging import CONFIG_DIR, config_names, shared_defaults  # noqa: E402
from utils.files.yaml_files import load_yaml  # noqa: E402

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
PRESETS = """\
# All presets

`--config=NAME` chooses one; [Which algorithm?](../which_algorithm.md) says where to start.
"""


def build(target: Path) -> int:
    """Write the site to a folder; what Sphinx returned, 0 without warnings."""
    pages = target.with_name(f"{target.name}_pages")
    for folder in (pages, target):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("site"))
    (pages / "index.md").write_text(_rooted((ROOT / "README.md").read_text()))
    for page in pages.glob("*.md"):
        page.write_text(_linked(page.read_text()))
    _write_algorithms(pages / "algorithms")
    _write_interface(pages / "api")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-c", str(SITE), pages, target]
    return subprocess.run(command, check=False).returncode


def _rooted(readme: str) -> str:
    """The README as a page of docs/: its links lead from there."""
    return re.sub(r"\]\((?!https?:|#)(docs/)?", lambda match: "](" if match[1] else "](../", readme)


def _linked(text: str) -> str:
    """A page whose links to files outside docs/ are their names, since the site has no such files."""
    text = text.replace("](../README.md", "](index.md")
    return re.sub(r"\[([^\]]+)\]\((\.\./)+[^)]*\)", r"\1", text)


def _write_algorithms(folder: Path) -> None:
    folder.mkdir()
    curves: dict[str, list[RunCurve]] = {}
    for file in curve_files(DOCS / "tables"):
        for run in file.runs:
            curves.setdefault(run.algorithm, []).append(run)
    lines = []
    for name in config_names("algs"):
        head = (CONFIG_DIR / "algs" / f"{name}.yaml").read_text().splitlines()[0].lstrip("# ")
        lines.append(f"| [{name}]({name}.md) | {head} |")
        (folder / f"{name}.md").write_text(_algorithm(name, head, curves.get(name, []), folder))
    (folder / "index.md").write_text("\n".join([PRESETS, "| preset | what it is |", "| --- | --- |", *lines, ""]))


def _algorithm(name: str, head: str, runs: list[RunCurve], folder: Path) -> str:
    config = load_yaml(CONFIG_DIR / "algs" / f"{name}.yaml")
    chosen = {"learner": shared_defaults()["learner"], **{key: config[key] for key in REGISTRIES if key in config}}
    chosen = {kind: part for kind, part in chosen.items() if part in REGISTRIES[kind]}
    parts = [f"| `{kind}` | `{part}` | {REGISTRIES[kind].entry(part).description} |" for kind, part in chosen.items()]
    options = declared(chosen)
    keys = [
        f"| `{key}` | `{as_word(value)}` | {options[key].sentence if key in options else ''} |"
        for key, value in config.items()
        if key not in REGISTRIES and key != "name"
    ]
    blocks = [
        f"# {name}",
        head,
        f"```bash\n./muster --config={name} --env-config=ENVIRONMENT with ...\n```",
        f"The file is `config/algs/{name}.yaml`.",
        "## Parts",
        "\n".join(["| key | part | what it is |", "| --- | --- | --- |", *parts]),
        "## Keys that it sets",
        "\n".join(["| key | value | meaning |", "| --- | --- | --- |", *keys]),
    ]
    if runs:
        _draw(folder / f"{name}.png", runs)
        picture = f"![test returns of {name}]({name}.png)"
        blocks += ["## Learning curves", picture, "The runs are those of [the tables](../tables.md)."]
    learner = REGISTRIES["learner"].entry(chosen["learner"]).target
    return "\n\n".join([*blocks, "## The learner", _documented(learner, whole=False)]) + "\n"


def _draw(path: Path, runs: list[RunCurve]) -> None:
    """Test returns over environment steps, a panel for each task."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    tasks = sorted({run.map for run in runs})
    columns = min(len(tasks), 3)
    rows = -(-len(tasks) // columns)
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(3.6 * columns, 2.6 * rows), squeeze=False, layout="constrained"
    )
    for axis, task in zip(axes.flat, tasks, strict=False):
        for run in runs:
            if run.map == task:
                axis.plot([step / 1e6 for step in run.steps], run.values, color="#0072b2", linewidth=1)
        axis.set_title(task.rpartition(":")[2], fontsize=8)
        axis.set_xlabel("environment steps (millions)", fontsize=7)
        axis.set_ylabel("test return", fontsize=7)
        axis.tick_params(labelsize=7)
    for axis in list(axes.flat)[len(tasks) :]:
        axis.set_visible(False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


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
    (folder,) = arguments or ["build/site"]
    code = build(Path(folder).resolve())
    print(f"The site is in {folder}: open {folder}/index.html" if code == 0 else "Sphinx found faults, see above.")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
