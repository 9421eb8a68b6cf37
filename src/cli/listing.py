"""`--list`: the choices; imports nothing but the environment whose scenarios are listed."""

import ast
from typing import Any

from checks.options import declared
from checks.registries import REGISTRIES
from cli.env_arguments import arguments, as_word
from cli.presets import Preset, by_group
from envs.families import COMPILED, ELSEWHERE, FAMILIES
from utils.config.merging import CONFIG_DIR, config_names, parameter_names
from utils.config.registry import loaded_plugins
from utils.errors import ConfigError
from utils.files.yaml_files import load_yaml
from utils.nearest import suggestion
from utils.plain_values import quoted
from vector_envs.instances import constructor_of

ALGORITHMS, ENVIRONMENTS = "algorithms", "environments"
OWN = ("skirmish", "racing", "entities", "matrix", "two_step", "trackmania", "dots")
HEADINGS = {
    "env": "Environments (env=...)",
    "runner": "Runners (runner=...; collectors: other processes play, by the runner collectors.runner)",
    "vector_env": "Sources of environments (vector_env=...; auto: by runner and environment)",
    "env_transport": "Transports (env_transport=...)",
    "mac": "Controllers (mac=...)",
    "agent": "Agents (agent=...)",
    "action_selector": "Action selectors (action_selector=...)",
    "learner": "Learners (learner=...)",
    "collection": "Collection (collection=...)",
    "opponents": "Opponents of groups that learn (opponents=...)",
    "buffer": "Buffers (buffer=...; auto: the learner's)",
    "mixer": "Mixers (mixer=...)",
    "critic": "Critics (critic=...)",
    "intrinsic": "Intrinsic rewards (intrinsic=...)",
}


def listing(name: str = "") -> str:
    """All configs and registry entries, one line each: name and description.

    Args:
        name: of an environment or its config, for the maps or tasks that it has; or a registry's key, such as
            learner, for its entries only; or KIND=NAME for the config keys of one part; or "algorithms" for what
            `--config` takes; or "environments" for those of other packages, too, by family.

    Raises:
        ConfigError: there is no such name.
    """
    algorithms = [
        *_algorithms(),
        ("Parameter files (--config=..., with a control panel)", _parameter_lines()),
    ]
    if name == ALGORITHMS:
        return _blocks(algorithms)
    if name == ENVIRONMENTS:
        return _blocks(_families())
    if name in REGISTRIES:
        return _blocks([_section(name)])
    if name.partition("=")[0] in REGISTRIES:
        return _blocks([_part(*name.split("=", 1))])
    if name:
        return _blocks([_scenarios(name)])
    return _blocks(
        [*algorithms, ("Environment configs (--env-config=...)", _config_lines("envs")), *map(_section, REGISTRIES)]
    )


def _blocks(sections: list[tuple[str, list[tuple[str, str]]]]) -> str:
    return "\n\n".join(_block(*section) for section in sections)


def _block(title: str, lines: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in lines)
    return "\n".join([title, *(f"  {name:<{width}}  {text}".rstrip() for name, text in lines)])


def _section(key: str) -> tuple[str, list[tuple[str, str]]]:
    registry = REGISTRIES[key]
    return HEADINGS[key], [(name, registry.entry(name).description) for name in registry]


def _part(kind: str, name: str) -> tuple[str, list[tuple[str, str]]]:
    entry, options = REGISTRIES[kind].entry(name), declared({kind: name})
    if kind == "env":
        given = [(f"{one.name}={one.word}", one.meaning) for one in arguments(name)]
        return f"env={name}: {entry.description} (env_args.NAME=...)", given or [("", "It takes no arguments.")]
    keys = [*(entry.reads or ()), *REGISTRIES[kind].options]
    lines = [(f"{key}={as_word(options[key].default)}", options[key].sentence) for key in keys]
    if entry.reads is None:
        lines.insert(0, ("", "It declares no keys of its own, and may read any (docs/own_learner.md)."))
    return f"{kind}={name}: {entry.description}".removesuffix(": "), lines or [("", "It reads no keys.")]


def _scenarios(name: str) -> tuple[str, list[tuple[str, str]]]:
    environments = REGISTRIES["env"]
    configs = config_names("envs")
    if name in configs:
        name = load_yaml(CONFIG_DIR / "envs" / f"{name}.yaml").get("env", name)
    if name not in environments:
        known = {*environments, *configs, *REGISTRIES, ALGORITHMS, ENVIRONMENTS}
        raise ConfigError(f"--list {quoted(name)}: unknown name.{suggestion(name, known)} {loaded_plugins()}")
    constructor: Any = constructor_of(environments[name])
    try:
        key, lines = constructor.scenarios()
    except (AttributeError, NotImplementedError):  # perhaps a user's own
        return f"Environment {name}: {environments.entry(name).description}", [("", "It lists no maps or tasks.")]
    return f"Scenarios of {name} (env_args.{key}=...)", lines


def _families() -> list[tuple[str, list[tuple[str, str]]]]:
    """All environments: Muster's own, and by family those of other packages, installed or not; nothing is imported."""
    entries = REGISTRIES["env"]
    own = [(name, f"--env-config={name}: {entries.entry(name).description}") for name in OWN if name in entries]
    there, absent = [], []
    for family in FAMILIES:
        plays = f"--env-config={family.door} with env_args.{family.key}"
        remark = f" ({family.remark})" if family.remark else ""
        if family.installed():
            there.append((family.title, f"{plays}{remark}"))
        else:
            absent.append((family.title, f"{family.install}{remark}; then {plays}"))
    return [
        ("Muster's own, with nothing to install", own),
        ("Games of other packages that Muster has compiled, with nothing to install", list(COMPILED.items())),
        ("Other packages that are installed", there),
        ("Other packages, and what installs them", absent),
        ("Not beside today's packages", [*ELSEWHERE.items()]),
    ]


def _algorithms() -> list[tuple[str, list[tuple[str, str]]]]:
    """Presets by group, with the actions that each learns."""
    found = by_group()
    return [(f"{title} (--config=...)", [_preset_line(group, one) for one in group]) for title, group in found.items()]


def _preset_line(group: list[Preset], one: Preset) -> tuple[str, str]:
    width = max(len(other.actions) for other in group)
    return one.name, f"{one.actions:<{width}}  {one.title}"


def _parameter_lines() -> list[tuple[str, str]]:
    """Name and docstring of every parameter file, which is not imported."""
    paths = [CONFIG_DIR / "algs" / f"{name}.py" for name in parameter_names()]
    return [(path.stem, ast.get_docstring(ast.parse(path.read_text())) or "") for path in paths]


def _config_lines(family: str) -> list[tuple[str, str]]:
    """Name and first comment of every YAML file of a family."""
    lines = []
    for name in config_names(family):
        with open(CONFIG_DIR / family / f"{name}.yaml", encoding="utf-8") as file:
            first = file.readline().strip()
        lines.append((name, first.lstrip("# ") if first.startswith("#") else ""))
    return lines
