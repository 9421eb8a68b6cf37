"""What a run hands to tracking services at its end: its best model, replays as animations, a page of figures."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

from records.best_model import recorded_best
from records.layout import BEST, MODELS, REPLAYS
from records.logger import Logger
from records.sinks import Attachment
from utils.errors import MusterError

# a run may record many episodes
MOST_REPLAYS = 10
# environment steps shown in a second, as by `replay.py`
FPS = 6


def attach_results(args: SimpleNamespace, logger: Logger, t_env: int, page: Callable[[Path], bool] | None) -> None:
    """Hand over what `track_model` and `track_media` say. A failure is reported, and none of the run.

    Args:
        t_env: environment steps of the run.
        page: writes the page of figures into a file, and returns whether it did; None: there is none.
    """
    root, token = Path(args.local_results_path), args.unique_token
    if args.track_model and (found := recorded_best(root / MODELS / token / BEST)) is not None:
        logger.attach(Attachment("model", BEST, found[0], found[1]["step"]))
    if not args.track_media:
        return
    with TemporaryDirectory(prefix="muster-") as made:
        replays = sorted((root / REPLAYS / token).glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
        if len(replays) > MOST_REPLAYS:
            logger.console_logger.info(
                f"The newest {MOST_REPLAYS} of {len(replays)} replays go to the tracking services."
            )
        for replay in replays[-MOST_REPLAYS:]:
            animation = Path(made, f"{replay.stem}.gif")
            try:
                _animate(replay, animation)
            except MusterError as error:
                logger.console_logger.warning(f"{replay} was not animated: {error}")
            else:
                logger.attach(Attachment("video", f"replay/{replay.stem}", animation, t_env))
        if page is not None and page(path := Path(made, "summary.html")):
            logger.attach(Attachment("page", "summary", path, t_env))


def _animate(replay: Path, animation: Path) -> None:
    # with packages that runs do without
    from replays.export import write_gif
    from replays.frames import frames
    from replays.reader import read_replay

    write_gif(animation, frames(read_replay(replay)), FPS)
