"""The cards of a run's view that are lists of facts: what it is, how it went, and where it ran."""

from datetime import datetime

from dash import dcc, html

from browser.page.parts import address
from browser.page.parts.components import card, facts, run_title, status_badge, table, table_buttons
from browser.page.parts.context import Context, state_of
from browser.page.parts.limits import MOST_SESSIONS, left_out
from browser.page.parts.progress import progress_of
from browser.page.run.request import RunRequest
from browser.reading import Run
from utils.config.merging import default_config, flatten

MOST_TIMINGS = 30
# in the names of statistics of times
_TIMING = ("time", "seconds", "per_second", "fps", "_ms")


def status(asked: RunRequest) -> object:
    """What the head shows."""
    return state_of(asked.run)


def head(asked: RunRequest) -> html.Div:
    """The run's name and status, and a link to the runs of the same algorithm on the same map."""
    run = asked.run
    alike = [
        other.id
        for other in asked.context.runs()
        if (other.name, other.environment, other.map_name) == (run.name, run.environment, run.map_name)
    ]
    parts = [
        html.H1(run_title(run)),
        html.Span(status_badge(run.status_at()), id="run-status"),
        html.Span(className="gap"),
        dcc.Link("Compare with its other seeds", href=address.link("/compare", {"runs": alike})),
    ]
    return html.Div(parts, className="title")


def overview(asked: RunRequest) -> html.Section:
    """The experiment and its results."""
    run, newest = asked.run, asked.run.newest
    about = {
        "algorithm": run.name,
        "environment": run.environment,
        "map": run.map_name,
        "seed": None if run.seed is None else str(run.seed),
        "result": None if newest.result is None else str(newest.result),
        "message": str(run.config.get("message") or ""),
        "token": run.token,
        "folder": None if newest.folder is None else str(newest.folder),
        "problems": run.problems(),
    }
    return card("Overview", facts(about))


def machine(asked: RunRequest) -> html.Section:
    """Where it ran, and with which program."""
    host, source = asked.run.newest.host, asked.run.newest.source
    dirty = " (with uncommitted changes)" if source.dirty else ""
    about = {
        "machine": host.name,
        "system": host.os,
        "processor": host.cpu,
        "graphics": ", ".join(host.gpus),
        "Python": host.python,
        "git commit": f"{source.commit[:12]}{dirty}" if source.commit else "",
        "repository": source.url,
        "main file": source.main_file,
    }
    return card("Host and program", facts(about))


def progress(asked: RunRequest) -> object:
    """What the times depend on."""
    return state_of(asked.run), asked.run.newest.heartbeat, asked.context.results.stamp(asked.run, "curves")


def time(asked: RunRequest) -> html.Section:
    """How long it took, and how that splits as far as it was recorded."""
    context, run, total = asked.context, asked.run, asked.run.seconds()
    keys = context.results.metric_keys(run)
    split = [key for key in keys if any(part in key for part in _TIMING)][:MOST_TIMINGS]
    t_env, values = context.results.latest(run, [*split, *keys[:1]])
    trained = _training_seconds(context, run, keys)
    far = progress_of(run, t_env, context.results.curves(run, keys[:MOST_TIMINGS]).values())
    outside = None if total is None or trained is None or total < trained else total - trained
    about = {
        "started (UTC)": _time(run.started),
        "ended (UTC)": _time(run.newest.stopped),
        "last heartbeat (UTC)": _time(run.newest.heartbeat),
        "wall-clock": _duration(total),
        "in the training loop": _duration(trained),
        "outside the training loop": _duration(outside),
        "progress": None if far is None else f"{far} (t_max = {run.config['t_max']:,})",
        "environment steps": None if t_env is None else f"{t_env:,}",
        "steps per second": f"{t_env / trained:,.0f}" if t_env and trained else None,
        **{key: f"{values[key]:.4g}" for key in split if key in values},
    }
    return card("Time", facts(about))


def _training_seconds(context: Context, run: Run, keys: list[str]) -> float | None:
    usual = [key for key in ("return_mean", "test_return_mean") if key in keys] or keys[:1]
    curves = context.results.curves(run, usual).values()
    return max((float(c.seconds[-1]) for c in curves if c.seconds is not None and len(c.seconds)), default=None)


def crash(asked: RunRequest) -> html.Section | None:
    """The last traceback."""
    traces = [session.fail_trace for session in asked.run.sessions if session.fail_trace]
    return card("Crash", html.Pre(traces[-1], className="trace")) if traces else None


def sessions(asked: RunRequest) -> html.Section | None:
    """The sessions of a run that was resumed, oldest first."""
    run = asked.run
    if len(run.sessions) == 1 and run.newest.resumed_from is None:
        return None
    names = html.Tr([html.Th(name) for name in ("session", "status", "started (UTC)", "resumed from", "lasted")])
    rows = []
    more = left_out("sessions", run.sessions, run.sessions[-MOST_SESSIONS:], "last")
    for session in run.sessions[-MOST_SESSIONS:]:
        origin = session.resumed_from
        step = "?" if origin is None or origin.t_env is None else f"{origin.t_env:,}"
        came = "" if origin is None else f"run {origin.sacred_id or '?'} at step {step}"
        link = dcc.Link(session.id, href=address.link("/run", {"run": session.id}))
        times = (_time(session.started), came, _duration(session.seconds()))
        row = [html.Td(link), html.Td(status_badge(session.status_at())), *(html.Td(text) for text in times)]
        rows.append(html.Tr(row))
    note = html.P(more, className="note") if more else None
    return card("Sessions", note, html.Table([names, *rows], className="plain"))


def panel(asked: RunRequest) -> html.Section | None:
    """The control panel of a run that a parameter file made."""
    config = asked.run.config
    name = config.get("parameter_file")
    if not name:
        return None
    chosen = {
        key.removeprefix("cpanel."): str(value) for key, value in sorted(config.items()) if key.startswith("cpanel.")
    }
    return card("Control panel", facts({"parameter file": str(name), **chosen}))


def config(asked: RunRequest) -> html.Section:
    """All keys of its config: first those that differ from config/default.yaml or are not in it."""
    usual = flatten(default_config())
    rows = [
        {"key": key, "value": str(value), "default": str(usual[key]) if key in usual else ""}
        for key, value in asked.run.config.items()
    ]
    rows.sort(key=lambda row: (row["value"] == row["default"], row["key"]))
    filtered = {"floatingFilter": True, "suppressFloatingFilterButton": True}
    columns = [
        {"field": "key", "width": 260, **filtered},
        {"field": "value", "flex": 1, "minWidth": 200, **filtered, "tooltipField": "value"},
        {"field": "default", "width": 200, "tooltipField": "default"},
    ]
    return card("Config", table("run-config", columns, rows), tools=table_buttons("run-config", "config"))


def _time(time: datetime | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S") if time else ""


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
