"""What the views Compare and Results table have in common: controls, an address, files, and following their runs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dash import Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from browser.cautions import Caution
from browser.page.compare.request import Compared, Request, asked_runs, compare
from browser.page.parts import address, saved_views
from browser.page.parts.components import notices
from browser.page.parts.context import Context, revision_of, state_of
from browser.page.parts.frame import follow_address

# parts of a request that no control has
_KEPT = ("runs", "hide")


@dataclass(frozen=True)
class ComparisonView:
    """A view of a comparison.

    Attributes:
        name: the beginning of its elements' ids.
        path: its address.
        controls: parts of the request that controls have: "<name>-<part>".
        fields: the controls.
        parts: classes of the elements "<name>-<part>" that are drawn, in their order.
        draw: the content of the parts.
        lasting: the last of them, which only another choice of runs changes: `draw` makes it if asked for it.
        files: writers of the files that buttons "<name>-<form>" offer, by form.
    """

    name: str
    path: str
    controls: tuple[str, ...]
    fields: Callable[[Compared], list[Component]]
    parts: Mapping[str, str]
    draw: Callable[[Compared], tuple]
    files: Mapping[str, Callable[[Compared], dict[str, str]]]
    lasting: Callable[[Context, Compared], Any] | None = None

    def layout(self, context: Context, query: dict[str, str]) -> html.Div:
        """The comparison that an address asks for."""
        wrong: list[str] = []
        query = saved_views.opened(context, self.path, query, wrong)
        compared = compare(context, query)
        compared.wrong[:0] = wrong
        if not compared.runs:
            return html.Div([notices(compared.wrong), html.Div([html.H1("No runs to compare")], className="empty")])
        request = compared.request
        # what its controls will ask for
        own = address.as_query({name: getattr(request, name) for name in (*_KEPT, *self.controls)})
        content = zip(self.parts.items(), self._drawn(context, compared, None), strict=True)
        return html.Div(
            [
                saved_views.bar(context, self.name, self.path),
                html.Div(self.fields(compared), className="controls"),
                html.Div(notices(compared.wrong), id=f"{self.name}-wrong"),
                *(html.Div(part, id=f"{self.name}-{name}", className=style) for (name, style), part in content),
                dcc.Store(id=f"{self.name}-address", data=request.address(self.path)),
                *(dcc.Store(id=f"{self.name}-{name}", data=list(getattr(request, name))) for name in _KEPT),
                dcc.Store(id=f"{self.name}-revision", data=self._revision(context, own, compared)),
                dcc.Download(id=f"{self.name}-download"),
            ],
            className="view",
        )

    def register(self, app: Dash, context: Context) -> None:
        """Its callbacks."""
        follow_address(app, f"{self.name}-address")
        kept = [State(f"{self.name}-{name}", "data") for name in _KEPT]

        @app.callback(
            *(Output(f"{self.name}-{part}", "children") for part in (*self.parts, "wrong")),
            Output(f"{self.name}-address", "data"),
            Output(f"{self.name}-revision", "data"),
            Input("tick", "n_intervals"),
            *(Input(f"{self.name}-{name}", "value") for name in self.controls),
            State(f"{self.name}-revision", "data"),
            *kept,
            prevent_initial_call=True,
        )
        def follow(_: Any, *values: Any) -> tuple:
            *controls, revision, runs, hide = values
            return self.refreshed(context, self._query(runs, hide, controls), revision)

        @app.callback(
            Output(f"{self.name}-download", "data"),
            *(Input(f"{self.name}-{form}", "n_clicks") for form in self.files),
            *(State(f"{self.name}-{name}", "value") for name in self.controls),
            *kept,
            prevent_initial_call=True,
        )
        def save(*values: Any) -> dict[str, str]:
            *controls, runs, hide = values[len(self.files) :]
            form = str(ctx.triggered_id).removeprefix(f"{self.name}-")
            if not any(values[: len(self.files)]) or form not in self.files:
                raise PreventUpdate
            return self.files[form](compare(context, self._query(runs, hide, controls)))

        if not context.write:
            return

        @app.callback(
            Output(f"{self.name}-views", "children"),
            Output("notice", "children", allow_duplicate=True),
            Input(f"{self.name}-view-save", "n_clicks"),
            Input(f"{self.name}-view-forget", "n_clicks"),
            State(f"{self.name}-view-name", "value"),
            State(f"{self.name}-address", "data"),
            prevent_initial_call=True,
        )
        def name_view(saved: Any, forgotten: Any, name: Any, there: Any) -> tuple[list[Any], str]:
            if not saved and not forgotten:
                raise PreventUpdate
            word = str(ctx.triggered_id).rpartition("-")[2]
            return saved_views.changed(context, self.path, word, name, there), ""

    def refreshed(self, context: Context, query: dict[str, str], revision: Any = None) -> tuple:
        """The content of the parts, what is wrong, the address, and the revision of all this.

        Args:
            query: what the controls ask for.
            revision: of what the asking window shows.

        Raises:
            PreventUpdate: it shows all of it.
        """
        old = revision if isinstance(revision, dict) else {}
        if self._seen(context, query) == old.get("seen"):
            raise PreventUpdate
        compared = compare(context, query)
        now = self._revision(context, query, compared)
        parts = self._drawn(context, compared, old.get("runs"))
        return *parts, notices(compared.wrong), compared.request.address(self.path), now

    def _drawn(self, context: Context, compared: Compared, old_runs: Any) -> tuple:
        parts = self.draw(compared)
        if self.lasting is None:
            return parts
        same = _runs_in(compared) == old_runs
        return *parts, no_update if same else self.lasting(context, compared)

    def _revision(self, context: Context, query: dict[str, str], compared: Compared) -> dict[str, str]:
        return {"seen": self._seen(context, query), "runs": _runs_in(compared)}

    def _seen(self, context: Context, query: dict[str, str]) -> str:
        runs, _ = asked_runs(context, query)
        return revision_of((sorted(query.items()), context.revision(runs)))

    def _query(self, runs: Any, hide: Any, values: list) -> dict[str, str]:
        return address.as_query({"runs": runs, "hide": hide, **dict(zip(self.controls, values, strict=True))})


def warnings(cautions: Iterable[Caution], request: Request, path: str) -> html.Div | None:
    """Cautions, each sentence with links to its remedies in the view with this path."""
    sentences = []
    for caution in cautions:
        links = [
            dcc.Link(remedy.label, href=request.address(path, **remedy.changes), className="remedy")
            for remedy in caution.remedies
        ]
        sentences.append(html.P([html.Span(caution.text), *links]))
    return html.Div(sentences, className="warning", role="note") if sentences else None


def _runs_in(compared: Compared) -> str:
    return revision_of([state_of(run) for run in compared.comparison.runs])
