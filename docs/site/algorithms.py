"""The pages of presets: what each is, its command, its parts and keys, its equations and its curves.

Those of parameter files have their panel in place of curves.
"""

import ast
import re
import shlex
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import equations

from browser.reading.curve_files import RunCurve, curve_files
from checks.options import declared
from checks.registries import REGISTRIES
from cli.parameter_files import load_parameters
from cli.reference import as_word
from envs.contract.fields import EnvSpec, FieldSpec
from utils.config.merging import CONFIG_DIR, config_names, parameter_names, shared_defaults
from utils.files.yaml_files import load_yaml

DOCS = Path(__file__).parents[1]
EQUATIONS = DOCS / "equations"
# of the runs of docs/algorithms/presets.yaml
FIRST_RUNS = DOCS / "algorithms"
PRESETS = """\
# All presets

`--config=NAME` chooses one; [Which algorithm?](../which_algorithm.md) says where to start, and
[Equations](../equations/symbols.md) has what they learn by.
"""
FIRST = """\
Test returns of the command above, one seed: a first look, not a comparison
(`./muster suite run docs/algorithms/presets.yaml` runs those of all presets)."""


def write_pages(folder: Path, documented: Callable[..., str], only: Collection[str] = ()) -> None:
    """Write a page for each preset, and the list of them.

    Args:
        documented: the directive for the docstring of a learner, `module:Class`.
        only: the presets that get a page; (): all.
    """
    folder.mkdir(exist_ok=True)
    curves = _by_algorithm(DOCS / "tables")
    first_runs = _by_algorithm(FIRST_RUNS)
    lines = []
    for name in sorted([*config_names("algs"), *parameter_names()]):
        head = _file(name).read_text().splitlines()[0].strip('#" ')
        if only and name not in only:
            lines.append(f"| {name} | {head} |")
            continue
        lines.append(f"| [{name}]({name}.md) | {head} |")
        text = page(name, head, first_runs.get(name, []), bool(curves.get(name)))
        for ending, runs in (("_first", first_runs.get(name)), ("", curves.get(name))):
            if runs:
                _draw(folder / f"{name}{ending}.png", runs)
        learner = REGISTRIES["learner"].entry(config_of(name)["learner"]).target
        (folder / f"{name}.md").write_text(f"{text}\n\n## The learner\n\n{documented(learner, whole=False)}\n")
    (folder / "index.md").write_text("\n".join([PRESETS, "| preset | what it is |", "| --- | --- |", *lines, ""]))


def page(name: str, head: str, first_runs: list[RunCurve], more_curves: bool) -> str:
    """A preset's page without its learner's docstring."""
    config, (options, chosen), file = _own(name), _options(name), _file(name)
    parts = [f"| `{kind}` | `{part}` | {REGISTRIES[kind].entry(part).description} |" for kind, part in chosen.items()]
    keys = [
        f"| `{key}` | `{as_word(value)}` | {options[key].sentence if key in options else ''} |"
        for key, value in config.items()
        if key not in REGISTRIES and key != "name"
    ]
    source = equations.pages(EQUATIONS)[chosen["learner"]]
    title = source.read_text().partition("\n")[0].lstrip("# ")
    blocks = [f"# {name}", head]
    for run in first_runs:
        blocks.append(f"```bash\n{command(run)}\n```")
        blocks += [f"![test returns of {name} on {task(run)}]({name}_first.png)", FIRST]
    if file.suffix == ".py":
        blocks += [f"```bash\n./muster --config={name}\n```", *_panel(file)]
    else:
        blocks.append(f"The file is `config/algs/{file.name}`.")
    blocks += [
        "## Parts",
        "\n".join(["| key | part | what it is |", "| --- | --- | --- |", *parts]),
        "## Keys that it sets",
        "\n".join(["| key | value | meaning |", "| --- | --- | --- |", *keys]),
        "## Equations",
        f"Those of its settings. [{title}](../equations/{source.name}) has all, and the keys that switch them.",
        equations.of_config(config_of(name), EQUATIONS),
    ]
    if more_curves:
        picture = f"![test returns of {name}]({name}.png)"
        blocks += ["## Longer runs", picture, "The runs are those of [the tables](../tables.md)."]
    return "\n\n".join(blocks)


def config_of(name: str) -> dict[str, Any]:
    """A preset's config: its own values, and the defaults of the parts that it chooses."""
    options, chosen = _options(name)
    keys = {key for registry in REGISTRIES.values() for key in registry.options}
    keys |= {key for kind, part in chosen.items() for key in REGISTRIES[kind].entry(part).options or {}}
    return {key: options[key].default for key in keys} | chosen | _own(name)


def command(run: RunCurve) -> str:
    """The command line of a run, for a shell."""
    return " ".join(["./muster", *(_word(word) for word in run.words), f"seed={run.seed}"])


def task(run: RunCurve) -> str:
    """What a run was about: the map, or the environment where it has one only."""
    return run.map.rpartition(":")[2] or run.environment


def _file(name: str) -> Path:
    path = CONFIG_DIR / "algs" / f"{name}.yaml"
    return path if path.exists() else path.with_suffix(".py")


def _own(name: str) -> dict[str, Any]:
    path = _file(name)
    return load_yaml(path) if path.suffix == ".yaml" else _of_parameters(name, path)


def _of_parameters(name: str, path: Path) -> dict[str, Any]:
    """What a parameter file makes of its panel as it stands, where its environment need not be installed."""
    file = load_parameters(name, path)
    pictures = "frame_stack" in file.cpanel
    fields = {
        "obs": FieldSpec("observation", (210, 160, 3) if pictures else (3,)),
        "actions": FieldSpec("action", (), n=6) if pictures else FieldSpec("action", (1,), low=-2.0, high=2.0),
        "reward": FieldSpec("outcome", (), group=None),
    }
    spec = EnvSpec(fields, {"agents": 1}, episode_limit=200, declared=True)
    file.gen_params.__globals__["ask_environment"] = lambda *_, **__: spec
    config = file.config({})
    return {key: value for key, value in config.items() if key not in ("cpanel", "parameter_file", "env", "env_args")}


def _panel(path: Path) -> list[str]:
    """The control panel of a parameter file, with the comments beside its keys."""
    lines, tree = path.read_text().splitlines(), ast.parse(path.read_text())
    panel = next(
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "cpanel"
    )
    assert isinstance(panel, ast.Dict)
    rows = []
    for key, value in zip(panel.keys, panel.values, strict=True):
        assert isinstance(key, ast.Constant) and value.end_lineno is not None
        comment = lines[value.end_lineno - 1][value.end_col_offset or 0 :].partition("# ")[2]
        rows.append(f"| `{key.value}` | `{ast.unparse(value)}` | {comment.replace('|', chr(92) + '|')} |")
    return [
        "It plays the environment that `model_name` of its panel names; `--cpanel '{\"gamma\": 0.98}'` changes keys of "
        f"the panel. The file is `config/algs/{path.name}`, a [parameter file](../parameter_files.md).",
        "## Its panel",
        "\n".join(["| key | value | meaning |", "| --- | --- | --- |", *rows]),
    ]


def _options(name: str) -> tuple[Mapping[str, Any], dict[str, str]]:
    """All options as a preset's parts declare them, and the parts by kind."""
    config = _own(name)
    chosen = {"learner": shared_defaults()["learner"], **{key: config[key] for key in REGISTRIES if key in config}}
    chosen = {kind: part for kind, part in chosen.items() if part in REGISTRIES[kind]}
    return declared(chosen), chosen


def _by_algorithm(folder: Path) -> dict[str, list[RunCurve]]:
    found: dict[str, list[RunCurve]] = {}
    for file in curve_files(folder):
        for run in file.runs:
            found.setdefault(run.algorithm, []).append(run)
    return found


def _word(word: str) -> str:
    """A word of a recorded command line; quotes of YAML that a plain text does not need are left out."""
    word = re.sub(r"='([A-Za-z][\w:/.-]*)'$", r"=\1", word)
    return shlex.quote(word) if "'" not in word else '"' + word.replace('"', '\\"') + '"'


def _draw(path: Path, runs: list[RunCurve]) -> None:
    """Test returns over environment steps, a panel for each task."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    tasks = sorted({task(run) for run in runs})
    columns = min(len(tasks), 3)
    rows = -(-len(tasks) // columns)
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(3.6 * columns, 2.6 * rows), squeeze=False, layout="constrained"
    )
    most = max(run.steps[-1] for run in runs)
    scale, unit = (1e6, " (millions)") if most >= 1e6 else (1e3, " (thousands)") if most >= 1e4 else (1, "")
    for axis, name in zip(axes.flat, tasks, strict=False):
        for run in runs:
            if task(run) == name:
                axis.plot([step / scale for step in run.steps], run.values, color="#0072b2", linewidth=1)
        axis.set_title(name, fontsize=8)
        axis.set_xlabel(f"environment steps{unit}", fontsize=7)
        axis.set_ylabel("test return", fontsize=7)
        axis.tick_params(labelsize=7)
    for axis in list(axes.flat)[len(tasks) :]:
        axis.set_visible(False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
