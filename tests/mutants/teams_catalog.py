"""Mutants of declared fields and of teams."""

from catalog import Edit

TEAMS = "tests/integration/test_teams.py"
GROUPS = "tests/integration/test_groups.py"
VIEWS = "tests/components/test_team_views.py"
DECLARED = "tests/vector_envs/test_declared_fields.py"

MUTANTS = (
    Edit("teams: groups one after another", "th.stack(values, dim=1).flatten(0, 1)", "th.cat(values)", (VIEWS,)),
    Edit("teams: rows of the first group", "row * self.episodes + g", "row * self.episodes", (VIEWS,)),
    Edit("teams: no step before", "batch[:, max(0, t - 1) : t + 1]), min(t, 1)", "batch[:, t : t + 1]), 0", (VIEWS,)),
    Edit("teams: a frozen one explores", "test_mode or team.frozen", "test_mode", (GROUPS, "-k", "earlier")),
    Edit(
        "teams: a frozen one is trained",
        "[team for team in self.teams if not team.frozen]",
        "self.teams",
        (TEAMS, "-k", "frozen"),
    ),
    Edit(
        "teams: no weights to begin with",
        "                load_first_models(parts.teams)\n",
        "",
        (TEAMS, "-k", "frozen"),
    ),
    Edit(
        "teams: one buffer's records for all",
        'if "".join(whose) == buffer:',
        "if True:",
        ("tests/checkpoints",),
    ),
    Edit("fields: ragged rows without a count", "count[...] = len(rows)", "pass", (DECLARED,)),
    Edit("fields: rows of before remain", "rows, 0\n    count", "rows, target[len(rows) :]\n    count", (DECLARED,)),
    Edit(
        "fields: rewards of one agent only", "reward.sum(axis=tuple(range(1, reward.ndim)))", "reward[:, 0]", (GROUPS,)
    ),
    Edit("fields: no demands on parts", 'demand in entry.traits.get("takes", ())', "True", (TEAMS, "-k", "refused")),
)
