"""Mutants of declared fields and of teams."""

from catalog import Edit

TEAMS = "tests/integration/test_teams.py"
GROUPS = "tests/integration/test_groups.py"
VIEWS = "tests/components/test_team_views.py"
OPPONENTS = "tests/acting/test_opponents.py"
CONTROLLERS = "tests/controllers/test_team_controllers.py"
SELF_PLAY = "tests/integration/test_self_play.py"
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
        "                load_first_models(parts.teams, logger.console_logger)\n",
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
    Edit("self-play: a pool without end", "while len(self.past) > self.size:", "while False:", (OPPONENTS,)),
    Edit("self-play: nobody but the newest", "self._random.random() < self.newest", "True", (OPPONENTS,)),
    Edit("self-play: other draws after a resume", 'self._random.setstate(state["random"])', "pass", (OPPONENTS,)),
    Edit("self-play: a draw is lost", "+ 0.5 * float(own == best)", "", (OPPONENTS,)),
    Edit("self-play: the first controller's order of groups", "[:, order].reshape", ".reshape", (CONTROLLERS,)),
    Edit("self-play: one who was asked before", " or last[1] is not mac", "", (CONTROLLERS,)),
    Edit(
        "self-play: all learn from every rollout",
        "learning is None or group in learning",
        "True",
        (SELF_PLAY, "-k", "one_set or each_team"),
    ),
    Edit(
        "self-play: the past follows the newest",
        "copy.deepcopy(state_of(mac, self._declared[team]))",
        "state_of(mac, self._declared[team])",
        (SELF_PLAY, "-k", "past_is"),
    ),
    Edit(
        "self-play: tests against the last opponent",
        "            self.opponents.rest()\n",
        "            pass\n",
        (SELF_PLAY, "-k", "normal_tests"),
    ),
    Edit(
        "self-play: the memory of another",
        "before.get(group) != self._playing.get(group)",
        "False",
        (SELF_PLAY, "-k", "taken_over"),
    ),
    Edit(
        "self-play: matches count as tests",
        "                self.on_match_episode({**info, **own})\n            return\n",
        "                self.on_match_episode({**info, **own})\n",
        (SELF_PLAY, "-k", "one_set"),
    ),
    Edit(
        "self-play: files of models that left",
        "shutil.rmtree(self._folder / name)",
        "pass",
        (SELF_PLAY, "-k", "one_set"),
    ),
    Edit(
        "self-play: a fixed model that was not loaded",
        "self._stand_ins[group].load_models(str(own))",
        "pass",
        (SELF_PLAY, "-k", "each_team"),
    ),
)
