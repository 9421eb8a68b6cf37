"""The parts of a run's view that are tables and lists."""

from datetime import datetime

from dash import dcc, html

from browser.page.parts import address
from browser.page.parts.components import card, facts, status_badge, table, table_buttons
from browser.page.parts.context import Context
from browser.page.parts.limits import MOST_SESSIONS, left_out
from browser.page.parts.progress import progress_of
from browser.page.replays.replay_files import replays_of
from browser.page.replays.replay_table import replay_table
from browser.page.runs.rows import problems_of
from browser.reading import Run
from browser.reading.session import Session

MOST_TIMINGS = 30
_FILTERED = {"floatingFilter": True, "suppressFloatingFilterButton": True}
# in the names of statistics of times
_TIMING = ("time", "seconds", "per_second", "fps", "_ms")


def overview(run: Run) -> html.Section:
    """The experiment and its results."""
    newest = run.newest
    return card(
        "Overview",
        facts(
            {
                "algorithm": newest.name,
                "environment": newest.environment,
                "map": newest.map_name,
                "seed": None if newest.seed is None else str(newest.seed),
                "result": None if newest.result is None else str(newest.result),
                "message": str(newest.config.get("message") or ""),
                "token": newest.token,
                "folder": None if newest.folder is None else str(newest.folder),
                "problems": problems_of(run),
            }
        ),
    )


def machine(run: Session) -> html.Section:
    """Where it ran, and with which program."""
    dirty = {True: " (with uncommitted changes)", False: "", None: ""}[run.source.dirty]
    return card(
        "Host and program",
        facts(
            {
                "machine": run.host.name,
                "system": run.host.os,
                "processor": run.host.cpu,
                "graphics": ", ".join(run.host.gpus),
                "Python": run.host.python,
                "git commit": f"{run.source.commit[:12]}{dirty}" if run.source.commit else "",
                "repository": run.source.url,
                "main file": run.source.main_file,
            }
        ),
    )


def timing(context: Context, run: Run) -> html.Section:
    """How long it took, and how that splits as far as it was recorded."""
    newest, total = run.newest, run.seconds()
    keys = context.results.metric_keys(run)
    split = [key for key in keys if any(part in key for part in _TIMING)][:MOST_TIMINGS]
    t_env, values = context.results.latest(run, [*split, *keys[:1]])
    trained = _training_seconds(context, run, keys)
    progress = progress_of(run, t_env, context.results.curves(run, keys[:MOST_TIMINGS]).values())
    outside = None if total is None or trained is None or total < trained else total - trained
    return card(
        "Time",
        facts(
            {
                "started (UTC)": _time(run.started),
                "ended (UTC)": _time(newest.stopped),
                "last heartbeat (UTC)": _time(newest.heartbeat),
                "wall-clock": _duration(total),
                "in the training loop": _duration(trained),
                "outside the training loop": _duration(outside),
                "progress": None if progress is None else f"{progress} (t_max = {newest.config['t_max']:,})",
                "environment steps": None if t_env is None else f"{t_env:,}",
                "steps per second": f"{t_env / trained:,.0f}" if t_env and trained else None,
                **{key: f"{values[key]:.4g}" for key in split if key in values},
            }
        ),
    )


def _training_seconds(context: Context, run: Run, keys: list[str]) -> float | None:
    usual = [key for key in ("return_mean", "test_return_mean") if key in keys] or keys[:1]
    curves = context.results.curves(run, usual).values()
    return max((float(c.seconds[-1]) for c in curves if c.seconds is not None and len(c.seconds)), default=None)


def sessions(run: Run) -> html.Section | None:
    """The sessions of a run that was resumed, oldest first."""
    if len(run.sessions) == 1 and run.newest.resumed_from is None:
        return None
    head = html.Tr([html.Th(name) for name in ("session", "status", "started (UTC)", "resumed from", "lasted")])
    rows = []
    more = left_out("sessions", run.sessions, run.sessions[-MOST_SESSIONS:], "last")
    for session in run.sessions[-MOST_SESSIONS:]:
        origin = session.resumed_from
        came = "" if origin is None else f"run {origin.sacred_id or '?'} at step {_steps(origin.t_env)}"
        link = dcc.Link(session.id, href=address.link("/run", {"run": session.id}))
        cells = [link, status_badge(session.status_at()), _time(session.started), came, _duration(session.seconds())]
        rows.append(html.Tr([html.Td(cell) for cell in cells]))
    note = html.P(more, className="note") if more else None
    return card("Sessions", note, html.Table([head, *rows], className="plain"))


def replays(context: Context, run: Run) -> html.Section:
    """Its recorded episodes, with links."""
    found = replays_of(context, run.id)
    none = html.P("None. save_replay=True records the last test.", className="note")
    return card("Replays", replay_table(context, found, run.id) if found else none)


def panel(run: Session) -> html.Section | None:
    """The control panel of a run that a parameter file made."""
    name = run.config.get("parameter_file")
    chosen = {key.removeprefix("cpanel."): value for key, value in run.config.items() if key.startswith("cpanel.")}
    if not name:
        return None
    shown = {key: str(value) for key, value in sorted(chosen.items())}
    return card("Control panel", facts({"parameter file": str(name), **shown}))


def config(run: Session) -> html.Section:
    """All keys of its config."""
    rows = [{"key": key, "value": str(value)} for key, value in sorted(run.config.items())]
    columns = [
        {"field": "key", "width": 260, **_FILTERED},
        {"field": "value", "flex": 1, "minWidth": 200, **_FILTERED, "tooltipField": "value"},
    ]
    return card("Config", table("run-config", columns, rows), tools=table_buttons("run-config", "config"))


def _time(time: datetime | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S") if time else ""


def _steps(t_env: int | None) -> str:
    return "?" if t_env is None else f"{t_env:,}"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
