"""The reference of all config keys, from the parts' declarations: `--help KEY` and docs/reference.md.

`make reference` writes docs/reference.md and the comments of config/default.yaml and config/envs/; `python -m
cli.reference --check` fails where they differ from the declarations.
"""

import re
import sys
from dataclasses import dataclass, field
from typing import Any

from checks.options import ROOMS, readings
from checks.registries import AUTO, REGISTRIES
from cli import env_arguments, statistics
from cli.env_arguments import PREFIX, TYPES, Argument, as_word
from cli.presets import by_group
from envs import about, live_options
from utils.config.merging import CONFIG_DIR, shared_defaults
from utils.config.options import FREE, SHARED, Option
from utils.config.registry import loaded_plugins
from utils.config.renamed_keys import KEYS, nearest_key
from utils.errors import ConfigError
from utils.nearest import did_you_mean
from utils.own_commands import as_documented
from utils.plain_values import quoted

DEFAULTS, REFERENCE = CONFIG_DIR / "default.yaml", CONFIG_DIR.parent / "docs" / "reference.md"
HEAD = """\
# All config keys

`make reference` writes this file from the options that each part declares. `python src/main.py --help KEY` prints one
key, `--list KIND=NAME` the keys of one part. Keys that several parts share, and those of PyMARL's own file, have their
defaults in `config/default.yaml`; a config has the others if it chooses a part that reads them. `--resume` may change
a key that says "free" ([resuming.md](resuming.md)).
"""
PRESETS_HEAD = """
## Presets

The algorithms of config/algs/, with the keys that one sets first and the preset's values.
[which_algorithm.md](which_algorithm.md) says which to choose; `python src/main.py print_config --config=NAME
--env-config=ENV` shows all keys of one.

"""
PRESET_COLUMNS = ("--config=", "what it is", "actions", "learns from", "learner", "set first")
ENVIRONMENTS_HEAD = """
## Environments

Which environments step many copies as one batch (`vector_env=batched`), which resume exactly because their state is
saved (others begin the episode again, with the next seed of their stream), and which record replays.

"""
ENVIRONMENT_COLUMNS = ("env", "what it is", "as one batch", "state is saved", "replays")
ARGUMENTS_HEAD = """
## Arguments of environments

`env_args.NAME` sets one: `with env_args.n_cars=4`. The defaults are those of the environment's file in config/envs/;
those that the file lacks are its constructor's. `--list env=racing` prints the arguments of an environment,
`--help env_args.n_cars` one. A resumed run keeps them, but those that may be a schedule may change over a run
([runs.md](runs.md#changes-while-a-run-is-under-way)).
"""
ARGUMENT_COLUMNS = ("argument", "default", "values", "meaning")
STATISTICS_HEAD = """
## Statistics

What runs log, in `metrics.csv`, on the page and in every other place ([results.md](results.md)); `<...>` stands for any
text, and `test_` before the name of a statistic of episodes for that of the last test. `--help td_error_abs` explains
one. Means of episodes are of those since the last time, at least every `runner_log_interval` steps; learners log their
last update, or the mean over their last passes, every `learner_log_interval` steps.
"""
STATISTIC_COLUMNS = ("statistic", "meaning", "logged by")
COLUMNS = ("key", "default", "values", "meaning", "read by", "resume")


@dataclass
class Key:
    """A key as its readers declare it; `readers`: names by room or kind of part, "" among them for all of a kind."""

    name: str
    option: Option
    readers: dict[str, list[str]] = field(default_factory=dict)

    @property
    def default(self) -> Any:
        return shared_defaults()[self.name] if self.option.default is SHARED else self.option.default

    @property
    def former(self) -> str:
        """Its former name, if it has one."""
        return next((former for former, name in KEYS.items() if name == self.name), "")

    @property
    def values(self) -> str:
        """The allowed values in words: `a whole number, at least 1, at most 65536`."""
        option = self.option
        if option.choices:
            *others, last = map(str, option.choices)
            words = f"{', '.join(others)} or {last}"
        elif self.name in REGISTRIES:
            words = ", ".join([*([AUTO] if self.default == AUTO else []), *REGISTRIES[self.name]])
        else:
            words = ", ".join([TYPES[option.kind or type(self.default)], *option.bounds()])
        return words + ", or a schedule" * option.schedule + ", or null" * option.nullable

    @property
    def read_by(self) -> str:
        """`every learner; runner=rollout`"""
        return "; ".join(
            "every run" if kind in ROOMS else f"every {kind}" if "" in names else f"{kind}={', '.join(names)}"
            for kind, names in self.readers.items()
        )


def all_keys() -> list[Key]:
    """All declared keys by room and kind of part; one that parts declare differently is there more than once."""
    found: list[Key] = []
    # a part may read keys that a later kind declares
    for kind, name, key, option in sorted(readings(), key=lambda reading: reading[3] is None):
        same = [known for known in found if known.name == key and option in (None, known.option)]
        if not same and option is not None:
            found.append(Key(key, option))
            same = found[-1:]
        for known in same[:1]:  # or a user's part reads a key that nothing declares
            known.readers.setdefault(kind, []).append(name)
    return found


def option_help(name: str) -> str:
    """The output of `--help KEY`: meaning, values, default, readers, and whether a resumed run may change it.

    Raises:
        ConfigError: nothing declares the key.
    """
    if name.startswith(PREFIX):
        return _argument_help(name.removeprefix(PREFIX).partition(".")[0])
    keys, top = all_keys(), name.partition(".")[0]
    found = [key for key in keys if key.name == KEYS.get(top, top)]
    if not found and (logged := statistics.of_name(name)):
        return "\n".join(f"{one.name}: {one.meaning}\n  statistic, logged by {one.logged_by}\n" for one in logged)
    if not found:
        hint = nearest_key(name, {key.name for key in keys})
        raise ConfigError(
            f"--help {name}: no part declares this key.{hint} docs/reference.md has all of Muster's; for a plugin's, "
            f"name it, too: --config=FILE or with plugins=FILE. {loaded_plugins()}"
        )
    return "\n".join(map(_page, found))


def _argument_help(name: str) -> str:
    """The pages of an argument of environments; one for those in which it means the same."""
    found = env_arguments.of_name(name)
    if not found:
        hint = did_you_mean(name, env_arguments.all_names())
        raise ConfigError(
            f"--help {PREFIX}{quoted(name)}: no environment declares this argument.{hint} "
            "--list env=NAME lists those of an environment."
        )
    return "\n".join(map(_argument_page, found))


def _argument_page(by_env: dict[str, Argument]) -> str:
    argument = next(iter(by_env.values()))
    live = any(argument.name in live_options(env) for env in by_env)
    defaults: dict[str, list[str]] = {}
    for env, one in by_env.items():
        defaults.setdefault(one.word, []).append(env)
    rows = {
        "values": argument.values,
        "default": "; ".join(
            f"{word} ({', '.join(envs)})" if len(defaults) > 1 else word for word, envs in defaults.items()
        ),
        "read by": f"env={', '.join(by_env)}",
        "resume": "kept; may change over a run (docs/runs.md)" if live else "kept",
    }
    title = f"{PREFIX}{argument.name}: {argument.meaning}".rstrip(": ")
    return "".join([f"{title}\n", *(f"  {word:<8} {text}\n" for word, text in rows.items())])


def _page(key: Key) -> str:
    rows = {
        "values": key.values,
        "default": as_word(key.default) + " (config/default.yaml)" * (key.option.default is SHARED),
        "read by": key.read_by,
        "resume": "free" if key.option.resume == FREE else f"kept, since it decides {key.option.resume}",
    }
    if key.former:
        rows["formerly"] = key.former
    return "".join([f"{key.name}: {key.option.sentence}\n", *(f"  {name:<8} {text}\n" for name, text in rows.items())])


def reference() -> str:
    """The text of docs/reference.md."""
    tables: dict[str, list[str]] = {}
    for key in all_keys():
        free = "free" if key.option.resume == FREE else ""
        meaning = key.option.sentence + f" (formerly `{key.former}`)" * bool(key.former)
        cells = (f"`{key.name}`", f"`{as_word(key.default)}`", key.values, meaning, key.read_by, free)
        tables.setdefault(next(iter(key.readers)), []).append(_row(cells))
    head = f"{_row(COLUMNS)}\n{_row(['---'] * len(COLUMNS))}"
    keys = "".join(f"\n## {kind}\n\n{head}\n" + "\n".join(rows) + "\n" for kind, rows in tables.items())
    return as_documented(HEAD + keys + _presets() + _environments() + _arguments() + _statistics())


def _presets() -> str:
    """The table of algorithms."""
    head = f"{_row(PRESET_COLUMNS)}\n{_row(['---'] * len(PRESET_COLUMNS))}"
    tables = []
    for title, group in by_group().items():
        rows = [
            _row((f"`{one.name}`", _plain(one.title), one.actions, one.data, f"`{one.learner}`", one.first_keys))
            for one in group
        ]
        tables.append("\n".join([f"### {title}\n", head, *rows, ""]))
    return PRESETS_HEAD + "\n".join(tables)


def _environments() -> str:
    """The table of what environments can do."""
    rows = []
    for env in REGISTRIES["env"]:
        entry, said = REGISTRIES["env"].entry(env), about(env)
        traits = entry.traits
        batched = "for some arguments" if "batched_if" in traits else "yes" if "batched" in traits else "no"
        rows.append(_row((f"`{env}`", _plain(entry.description), batched, said.saved, said.drawn)))
    head = f"{_row(ENVIRONMENT_COLUMNS)}\n{_row(['---'] * len(ENVIRONMENT_COLUMNS))}"
    return ENVIRONMENTS_HEAD + f"{head}\n" + "\n".join(rows) + "\n"


def _statistics() -> str:
    """The section about statistics."""
    text, head = STATISTICS_HEAD, f"{_row(STATISTIC_COLUMNS)}\n{_row(['---'] * len(STATISTIC_COLUMNS))}"
    for title, table in statistics.all_statistics().items():
        rows = [_row((f"`{one.name}`", _plain(one.meaning), one.logged_by)) for one in table]
        text += f"\n### {title}\n\n{head}\n" + "\n".join(rows) + "\n"
    return text


def _arguments() -> str:
    """The section about `env_args`: a table for each environment; those that mean the same share one."""
    alike: dict[int, list[str]] = {}
    for env in REGISTRIES["env"]:
        alike.setdefault(id(about(env)), []).append(env)
    text = ARGUMENTS_HEAD
    for envs in alike.values():
        rows = [
            _row((f"`{one.name}`", f"`{one.word}`", one.values, _plain(one.meaning)))
            for one in env_arguments.arguments(envs[0], imports=False)
        ]
        head = f"{_row(ARGUMENT_COLUMNS)}\n{_row(['---'] * len(ARGUMENT_COLUMNS))}"
        text += f"\n### {', '.join(f'env={env}' for env in envs)}\n\n{head}\n" + "\n".join(rows) + "\n"
    return text


def _plain(text: str) -> str:
    """A text in which Markdown sees no tags."""
    return text.replace("<", "\\<")


def _row(cells: tuple | list) -> str:
    return "| " + " | ".join(cells) + " |"


def commented(text: str) -> str:
    """config/default.yaml with each key's sentence as its comment."""
    sentences = {key.name: as_documented(key.option.sentence) for key in all_keys()}

    def with_sentence(line: re.Match) -> str:
        # a user may have added lines
        return f"{line[1]}: {line[2]} # {sentences[line[1]]}" if line[1] in sentences else line[0]

    return re.sub(r"^(\w+): (.*?)(?: +# .*)?$", with_sentence, text, flags=re.M)


def main(argv: list[str]) -> int:
    """Write both files, or with --check say which are not up to date."""
    texts = {REFERENCE: reference(), DEFAULTS: commented(DEFAULTS.read_text())}
    texts |= {path: env_arguments.commented(path.read_text()) for path in sorted((CONFIG_DIR / "envs").glob("*.yaml"))}
    stale = [path for path, text in texts.items() if path.read_text() != text]
    for path in stale:
        print(f"{path.name} is {'not up to date: run make reference' if argv else 'written'}")
        if not argv:
            path.write_text(texts[path])
    return int(bool(stale and argv))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
