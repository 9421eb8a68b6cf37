"""`--list`: what can be chosen, without importing any of it."""

from checks.registries import REGISTRIES
from utils.config import CONFIG_DIR, config_names

HEADINGS = {
    "env": "Environments (env=...)",
    "runner": "Runners (runner=...)",
    "env_transport": "Transports (env_transport=...)",
    "mac": "Controllers (mac=...)",
    "agent": "Agents (agent=...)",
    "action_selector": "Action selectors (action_selector=...)",
    "learner": "Learners (learner=...)",
    "mixer": "Mixers (mixer=...)",
    "critic": "Critics (critic=...)",
}


def listing() -> str:
    """All configs and registry entries, one line each: name and description."""
    sections = [
        ("Algorithms (--config=...)", _config_lines("algs")),
        ("Environment configs (--env-config=...)", _config_lines("envs")),
    ]
    for key, registry in REGISTRIES.items():
        sections.append((HEADINGS[key], [(name, registry.entry(name).description) for name in registry]))
    width = max(len(name) for _, lines in sections for name, _ in lines)
    blocks = ["\n".join([title, *(f"  {name:<{width}}  {text}" for name, text in lines)]) for title, lines in sections]
    return "\n\n".join(blocks)


def _config_lines(family: str) -> list[tuple[str, str]]:
    """Name and first comment of every config file of a family."""
    lines = []
    for name in config_names(family):
        with open(CONFIG_DIR / family / f"{name}.yaml", encoding="utf-8") as file:
            first = file.readline().strip()
        lines.append((name, first.lstrip("# ") if first.startswith("#") else ""))
    return lines
