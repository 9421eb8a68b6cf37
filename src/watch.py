"""Play the best or newest model of a run, record it and show it: `python src/watch.py RUN`."""

import contextlib
import webbrowser
from pathlib import Path
from types import SimpleNamespace

from cli.command import program, start
from cli.recorded_runs import add_plugins, recorded_config
from utils.command_line import RUN, OptionParser, number
from utils.errors import ConfigError, MusterError
from utils.own_commands import as_typed


def _parser() -> OptionParser:
    parser = OptionParser(
        "watch.py",
        "Play a model of a run, record it, and show it in the web browser.",
        "Settings come last, as in: watch.py latest with test_greedy=False",
        with_settings=True,
    )
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.add_argument("--results", default="results", help="folder of the results (default: results)")
    parser.add_argument("--episodes", type=number(1, 10**6, whole=True), default=1, help="their number (default: 1)")
    parser.add_argument("--model", choices=("best", "newest"), help="which of its saved models (default: best)")
    parser.add_argument("--seed", type=int, help="of the environments (default: the run's)")
    add_plugins(parser)
    showing = parser.add_mutually_exclusive_group()
    showing.add_argument("--no-open", action="store_true", help="print the page's address, but open no browser")
    showing.add_argument("--no-page", action="store_true", help="only record")
    return parser


def _watch(words: list[str]) -> None:
    from cli.settings import check_settings
    from records.find_run import find_run
    from replays.best_model import find_model
    from utils.config.merging import recursive_dict_update

    options = _parser().parse(words)
    found = find_run(options.run, options.results)
    config, given = recorded_config(found, check_settings(options.words), options.plugin)
    config = recursive_dict_update(config, given)
    model, reason = find_model(found, options.model, "--model=newest picks another")
    print(f"{found.token}: the model after {model.step} steps ({model.model}). {reason}".rstrip())
    paths = play(config, model.folder, model.step, found.results, options.episodes, options.seed)
    if not paths:
        raise MusterError(f"env={config.get('env')} could not be recorded; the message above says why.")
    for path in paths:
        export = as_typed(f"python src/replay.py {path} --gif {path.with_suffix('.gif').name}")
        print(f"Replay: {path}\n  as an animation: {export}")
    if not options.no_page:
        show(found.results, paths[0], open_browser=not options.no_open)


def play(
    config: dict, models: Path, step: int, results: Path, episodes: int = 1, seed: int | None = None
) -> list[Path]:
    """Play test episodes with the model saved in `<models>/<step>`; returns the replays, if there are any.

    Args:
        config: of the run that trained it.
        results: the folder under which the replays go.
        seed: instead of the config's.
    """
    from run import run

    environments = config.get("batch_size_run", 1)
    changes = {
        "evaluate": True,
        "run_name": "",
        "record_data": "",
        "save_replay": True,
        "checkpoint_path": str(models),
        "load_step": step,
        "local_results_path": str(results),
        "test_nepisode": episodes * environments,
        "test_batch_size": 0,
        "replay_episodes": episodes,
        "save_model": False,
        "use_tensorboard": False,
        "use_wandb": False,
        "use_mlflow": False,
    }
    if config.get("env_args", {}).get("replay_dir"):  # a folder that a record names, somewhere else
        changes["env_args"] = {**config["env_args"], "replay_dir": ""}
    if seed is not None:
        changes["seed"] = seed
    record = _Record()
    run({**config, **changes}, sacred_run=record)
    return [Path(path) for path in record.info.get("replays", [])]


class _Record(SimpleNamespace):
    """The part of a Sacred run that `run` uses."""

    def __init__(self):
        super().__init__(info={}, _id=None)

    def log_scalar(self, key: str, value: float, t: int) -> None:
        """Figures of the episodes are on the console."""


def show(results: Path, replay: Path, open_browser: bool = True) -> None:
    """Open the page (docs/browser.md) at a replay; it is served until Ctrl+C, if it is not already."""
    from utils.page_packages import require

    try:
        require("The replay page", "scipy", "plotly", "dash", "dash_ag_grid", "waitress")
    except ConfigError as error:  # the recording exists all the same
        print(error)
        return
    from browser.page.server.serving import open_page, replay_path

    path = replay_path(replay.parent.name, replay.name)
    with contextlib.suppress(KeyboardInterrupt):
        open_page(results, path, webbrowser.open if open_browser else lambda address: None)


main = program(_watch, "complete recordings are kept.")

if __name__ == "__main__":
    start(main)
