"""The views of self-play: matrices of cross-play, and ratings over time."""

import numpy as np
import pytest

from browser.figures.self_play import cross_play_heatmap, rating_curves
from browser.page.run.ratings import draw, rated
from browser.page.run.request import RunRequest
from browser.page.server.app import view_of
from page_views import context_of, links_in, parts_of, text_of
from records.cross_play import CROSS_PLAY, JSON, Cell, Estimate, Matrix, Model, write_matrix
from results_folders import write_log, write_run


def matrix_of(env="lbf", opposed=False, wins=None):
    models = [Model("<b>mappo_1", 100, "mappo", 1), Model("vdn_2", 2000, "vdn", 2)]
    means = [[0.5, 0.25], [-1.0, 2.0]]
    cells = [Cell(i, j, Estimate(means[i][j], 0.125), Estimate(), Estimate(wins)) for i in range(2) for j in range(2)]
    return Matrix(env, {}, opposed, (["agent_0"], ["agent_1", "agent_2"]), 64, 1, models, cells)


@pytest.fixture
def root(tmp_path):
    write_matrix(matrix_of(), tmp_path / CROSS_PLAY / "2026-11-29_a")
    write_matrix(matrix_of("duel", True, 0.75), tmp_path / CROSS_PLAY / "2026-11-30_b")
    return tmp_path


def test_the_newest_matrix_comes_first_and_others_are_linked(root):
    shown = view_of(context_of(root), "/crossplay", "")
    text = text_of(shown)
    assert "env=duel, 64 episodes of each pair" in text and "Win rate of the row's side" in text
    assert "crossplay-wins" in text and "2,000" in text
    (address,) = [href for name, href in links_in(shown).items() if name == "2026-11-29_a"]
    older = text_of(view_of(context_of(root), *address.split("?")[:1], f"?{address.split('?')[1]}"))
    assert "env=lbf" in older and "crossplay-wins" not in older and "agent_1, agent_2" in older
    # the mean of the diagonal is 1.25, that of the two algorithms together -0.375
    assert "self-play 1.25 ± 0.75; other algorithms -0.375 ± 0.62" in older


def test_cells_stand_where_they_belong_and_texts_are_no_markup():
    figure = cross_play_heatmap(matrix_of(), "returns", ["<b>1", "2"], "Return")
    heat = figure.data[0]
    assert heat.z[1][0] == -1.0 and heat.text[1][0] == "-1 ± 0.12" and heat.x[0] == "&lt;b&gt;1"
    assert figure.layout.yaxis.autorange == "reversed"
    assert cross_play_heatmap(matrix_of(wins=0.5), "wins", ["1", "2"], "").data[0].zmax == 1


def test_folders_without_matrices_strange_names_and_damage_are_sentences(root, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "No cross-play" in text_of(view_of(context_of(tmp_path / "empty"), "/crossplay", ""))
    for name, message in (("2026-11-29_c", "Did you mean"), ("../../etc", "There is no matrix")):
        assert message in text_of(view_of(context_of(root), "/crossplay", f"?matrix={name}"))
    (root / CROSS_PLAY / "2026-11-30_b" / JSON).write_text("{")
    assert "cannot be read" in text_of(view_of(context_of(root), "/crossplay", ""))
    (root / CROSS_PLAY / "link").symlink_to(root / CROSS_PLAY / "2026-11-29_a")
    assert "There is no matrix" in text_of(view_of(context_of(root), "/crossplay", "?matrix=link"))


def test_ratings_are_a_line_for_each_team(root):
    rows = [
        (t, t, t, f"{team}/test_{what}", value + t)
        for t in (0, 10)
        for team in ("red", "blue")
        for what, value in (("rating", 25.0), ("rating_sigma", 2.0), ("rating_past_1", 1.0))
    ]
    write_run(root, 1, info={"unique_token": "t"})
    write_log(root, "t", rows)
    write_run(root, 2, info={"unique_token": "other"})
    write_log(root, "other", [(0, 0, 0, "test_return_mean", 1.0)])
    context = context_of(root)
    (graph,) = parts_of(draw(RunRequest(context, context.run("1"))), "Graph")
    lines = [trace for trace in graph.figure.data if trace.mode == "lines+markers"]
    assert [line.name for line in lines] == ["blue", "red"] and list(lines[0].y) == [25.0, 35.0]
    assert draw(RunRequest(context, context.run("2"))) is None


def test_ratings_of_a_league_are_a_line_for_each_player_and_none_for_each_model_of_a_pool():
    names = ("", "_main_2", "_past_1", "_fixed_1", "_without_deviation")
    keys = [f"test_rating{name}" for name in names] + [f"test_rating_sigma{name}" for name in names[:-1]]
    assert rated(keys) == {
        "": ("test_rating", "test_rating_sigma"),
        "main_2": ("test_rating_main_2", "test_rating_sigma_main_2"),
    }
    assert list(rated([f"red/{key}" for key in keys])) == ["red", "red/main_2"]


def test_areas_are_two_deviations():
    steps = np.array([0.0, 1.0])
    area, line = rating_curves({"": (steps, np.array([25.0, 30.0]), np.array([8.0, 2.0]))}).data
    assert list(area.y) == [41.0, 34.0, 26.0, 9.0] and line.name == "newest model"
