"""The tables of benchmarks/gpu.py in Markdown."""

from collections.abc import Iterable
from typing import Any


def markdown(found: dict[str, Any]) -> str:
    """All that was found, ready for docs/performance.md."""
    machine = ", ".join(f"{key} {value}" for key, value in found["machine"].items() if value)
    parts = [machine]
    if presets := found["presets"]:
        parts.append(_of_presets(presets))
    if runs := found["runs"]:
        head = ("run, steps/s", "at a time", "CPU", "threads of torch", "GPU", "GPU at 3641c5f, H200", "ratio")
        parts.append(_table(head, map(_run, runs)))
        parts += [
            f"{row['run']}, {row['battles']} at a time\n\n```\n{row['spent']}\n```" for row in runs if row["spent"]
        ]
    if updates := found["updates"]:
        head = ("an update of QMIX, 32 full episodes, ms", "CPU, one thread", "GPU")
        parts.append(_table(head, ((row["shape"], _cell(row["cpu"], 1), _cell(row["card"], 1)) for row in updates)))
    if simulator := found["simulator"]:
        head = ("the simulator alone, 4,096 battles", "threads", "steps/s")
        parts.append(_table(head, ((row["map"], row["threads"], _cell(row["rate"])) for row in simulator)))
    if options := found["options"]:
        head = ("run on the GPU", "with", "figures against the plain path's", "plain, steps/s", "with it")
        rows = ((r["run"], r["with"], r["figures"], _cell(r["plain"]), _cell(r["changed"])) for r in options)
        parts.append(_table(head, rows))
    return "\n\n".join(parts)


def _of_presets(rows: list[dict]) -> str:
    trained = [row for row in rows if row["trains"] == "OK"]
    equal = sum(row["figures"] == "equal" for row in trained)
    compared = sum(bool(row["figures"]) for row in trained)
    text = f"{len(trained)} of {len(rows)} presets trained"
    text += f"; the first figures of {equal} of {compared} are the CPU's." if compared else "."
    others = [row for row in rows if row["trains"] != "OK" or row["figures"] not in ("equal", "")]
    if others:
        text += "\n\n" + _table(
            ("preset", "trains", "figures"), ((row["preset"], row["trains"], row["figures"]) for row in others)
        )
    return text


def _run(row: dict) -> tuple:
    earlier, card = row["earlier"], row["card"]
    ratio = f"{card / earlier:.2f}" if earlier and isinstance(card, float) else ""
    cells = _cell(row["cpu"]), row["threads"] if row["cpu"] else "", _cell(card), f"{earlier:,}" if earlier else ""
    return (row["run"], row["battles"], *cells, ratio)


def _cell(value: float | str, digits: int = 0) -> str:
    return value if isinstance(value, str) else f"{value:,.{digits}f}"


def _table(head: tuple[str, ...], rows: Iterable[tuple]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "/") for cell in line) + " |" for line in lines)
