"""What a data set has, in words, and data sets in other formats."""

import argparse
from pathlib import Path

from envs.recorded.copies import write_copy
from envs.recorded.formats import open_data
from envs.recorded.quality import QUANTILES, quality_of
from utils.errors import ConfigError
from utils.plain_values import quoted
from utils.sizes import readable_size

BAR = 40


def show(options: argparse.Namespace) -> None:
    """Print format, fields, counts, returns and digest.

    Raises:
        ConfigError: there is no data set, or it is damaged.
    """
    data = open_data(options.data)
    quality = quality_of(data)
    figures, spec = quality.figures(), data.description.spec
    size = sum(path.stat().st_size for path in data.files)
    came_from = f", of env={data.description.env}" if data.description.env else ""
    print(f"{data.folder}: {data.format}{came_from}, {readable_size(size)}")
    print(f"{quality.episodes:,} episodes, {quality.transitions:,} transitions, up to {quality.longest:,} steps each")
    print(f"sha256 {quality.digest}\n")
    for path, field in {**spec.fields, **data.description.decisions}.items():
        choices = f", one of {field.n}" if field.n is not None else ""
        whose = "" if field.group is None else f" for each of {spec.groups[field.group]} {field.group}"
        print(f"  {path:16} {field.kind:12} {field.entry_shape or '()'}{whose}{choices}")
    if 0 < quality.unfinished < quality.episodes:
        print(f"\n{quality.unfinished:,} episodes had not ended when recording stopped: returns are without theirs.")
    print(f"\nreturns: {figures['return_mean']:.4g} ± {figures['return_std']:.3g} (mean, standard deviation)")
    for share, value in zip(QUANTILES, figures["return_quantiles"], strict=True):
        print(f"  {share:3} %  {value:.4g}")
    counts, edges = figures["return_counts"], figures["return_edges"]
    for count, low in zip(counts, edges, strict=False):
        print(f"  {low:10.4g}  {'#' * round(BAR * count / max(counts))}{'' if count else '.'}")


def write(options: argparse.Namespace) -> None:
    """Write the data in the format `to` into the folder `out`.

    Raises:
        ConfigError: the folder exists, or the format does not take the data; nothing is left there.
    """
    if not options.out:
        raise ConfigError(f"--to {options.to} needs the folder to write: --out FOLDER.")
    out = Path(options.out)
    if out.exists():
        raise ConfigError(f"--out {quoted(options.out, 300)} exists already.")
    count = write_copy(open_data(options.data), options.to, out)
    print(f"{out}: {count:,} steps, as {options.to}.")
