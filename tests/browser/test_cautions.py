"""The cautions about a comparison: each one in its case, with its remedies."""

from datetime import timedelta

import numpy as np
import pytest

from browser import cautions
from browser.comparison import Comparison
from browser.page.compare.request import compare
from browser.page.compare.results_table import RESULTS
from browser.page.compare.view import COMPARE
from browser.page.parts import address
from browser.reading import Results
from page_views import compared, context_of, links_in, parts_of
from results_folders import START, write_log, write_run

WON = "test_battle_won_mean"


class Folder:
    """A results folder of short runs."""

    def __init__(self, root):
        self.root, self.n = root, 0

    def add(self, values, name="qmix", seed=None, map_name="3m", key="test_return_mean", **config):
        self.n += 1
        token = f"t{self.n}"
        config |= {"name": name, "seed": self.n if seed is None else seed, "env_args": {"map_name": map_name}}
        info = {"unique_token": token}
        write_run(self.root, self.n, config=config, info=info, started=START + timedelta(hours=self.n))
        write_log(self.root, token, [(100 * i, i, i, key, value) for i, value in enumerate(values)])

    def asked(self, search=""):
        return compare(context_of(self.root), address.parse(search))

    def shown(self, search=""):
        return compared(COMPARE, context_of(self.root), address.parse(search))

    def results(self, **query):
        return compared(RESULTS, context_of(self.root), query).content


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def said(element):
    """The sentences, and the address behind each link."""
    return " ".join(str(span.children) for span in parts_of(element, "Span")), links_in(element)


def after(href):
    return href.partition("?")[2]


def test_repeated_seeds_are_said_and_left_out_with_a_click(folder):
    for values, seed in (([0, 1], 1), ([0, 3], 1), ([0, 5], 2)):
        folder.add(values, seed=seed)
    text, links = said(folder.shown().cautions)
    assert "Seeds repeat: qmix on 3m (seed 1)." in text
    asked = folder.asked(after(links["Keep the newest of each"]))
    assert asked.comparison.scores("test_return_mean", last=1)["qmix"]["3m"].tolist() == [5, 3]
    text, links = said(folder.shown(after(links["Keep the newest of each"])).cautions)
    assert "1 older run is left out" in text and "only" not in links["Count all"]
    content = folder.results()
    assert "Seeds repeat" in said(content)[0]


def test_runs_of_different_settings_are_split_with_a_click(folder):
    for lr, gamma in ((1, 0.9), (1, 0.9), (2, 0.8)):
        folder.add([0, 1], lr=lr, gamma=gamma)
    folder.add([0, 1], name="vdn", lr=7)
    text, links = said(folder.shown().cautions)
    assert "Runs of qmix on the same map also differ in gamma, lr" in text and "vdn" not in text
    assert list(links) == ["Split by gamma", "Split by lr", "Split by all 2 keys"]
    split = folder.shown(after(links["Split by lr"]))
    assert split.bar[0].children == "4 runs · 3 groups · 1 map"
    assert "also differ" not in said(folder.shown(after(links["Split by all 2 keys"])).cautions)[0]


def test_sentences_about_all_runs_are_english(folder):
    """Grouped by nothing, as by the environment alone, runs are one group, which has no name."""
    for name, values in (("qmix", [0, 1, 2, 3, 4, 5]), ("vdn", [0, 1, 2])):
        folder.add(values, name=name)
    folder.add([0, 1], name="vdn", key="loss")
    shown = folder.shown("group=env")
    text, links = said(shown.cautions)
    assert "Runs on the same map also differ in name, yet count as repetitions." in text and list(links) == [
        "Split by name"
    ]
    assert "Runs without test return do not count: 1 of 3 on 3m." in text
    assert "all runs have n = 2 until 300, then 1" in said(shown.figures)[0]


def test_where_n_falls_is_said_under_the_curve(folder):
    folder.add([0, 1, 2, 3, 4, 5])
    folder.add([0, 1, 2])
    (card,) = folder.shown().figures
    text, links = said(card)
    assert "qmix has n = 2 until 300, then 1" in text
    (cut,) = folder.shown(after(links["Cut there"])).figures
    assert "differ in length" not in said(cut)[0]
    (line,) = (trace for trace in cut.children[1].figure.data if trace.fill is None)
    assert line.x.tolist() == [0, 100, 200, 300]


def test_runs_of_one_length_are_not_remarked_on(folder):
    folder.add([0, 1, 2])
    folder.add([0, 1, 3])
    shown = folder.shown()
    assert shown.cautions is None and said(shown.figures)[0] == "n = 2"


def test_maps_without_the_statistic_are_named(folder):
    folder.add([0, 1], key=WON)
    folder.add([0, 1], map_name="foraging")
    folder.add([0, 1])
    text, links = said(folder.shown(f"metric={WON}").cautions)
    assert "No run on foraging has test win rate, so it is not shown." in text
    assert "Runs without test win rate do not count: 1 of 2 of qmix on 3m." in text
    assert len(folder.shown(after(links["Show test return"])).figures) == 2
    content = folder.results(metric=WON)
    assert "No run on foraging" in said(content)[0]


def test_an_interval_beyond_the_range_of_a_rate(folder):
    for value in (0.9, 1.0, 1.0):
        folder.add([0.5, value], key=WON)
    (card,) = folder.shown("band=mean").figures
    text, links = said(card)
    # mean 0.9667, s = 0.0577: 0.9667 ± 4.303 · 0.0577 / √3 reaches 1.11
    assert "Student's interval of qmix exceeds 0 to 1, the range of a test win rate." in text
    (card,) = folder.shown(after(links["Interquartile mean"])).figures
    assert "exceeds 0 to 1" not in said(card)[0]
    (band,) = folder.asked("band=iqm").comparison.bands(WON, "3m", "iqm")
    assert band.low.min() >= 0 and band.high.max() <= 1


def test_scores_of_runs_of_unequal_length(folder):
    folder.add([0, 1, 2, 3, 4])
    folder.add([0, 1, 2], name="vdn")
    results = Results(folder.root, cache=None)
    caution, few = cautions.of_scores(Comparison(results, results.runs()), "test_return_mean")
    assert few.text == "Some runs have fewer than 5 tests, so all of their tests count: vdn on 3m (3)."
    assert few.remedies[0].changes == {"last": 1} and few.remedies[0].option == "--last 1"
    assert "Runs on 3m (200 to 400 steps) differ in length, yet their last values are compared." in caution.text
    assert caution.remedies[0].changes == {"step": 200}
    (short,) = cautions.of_scores(Comparison(results, results.runs()), "test_return_mean", step=400)
    assert short.text == "Runs that did not reach step 400 do not count: 1 of 1 of vdn on 3m."


def test_every_run_by_itself_is_no_repetition(folder):
    folder.add([0, 1], seed=1, lr=1)
    folder.add([0, 1], seed=1, lr=2)
    assert folder.shown("band=runs").cautions is None


def test_evaluations_repeat_no_training(tmp_path):
    folder = Folder(tmp_path)
    folder.add([1, 2, 3], seed=1)
    folder.add([9], seed=1, evaluate=True)
    results = Results(tmp_path, cache=None)
    both = Comparison(results, results.runs())
    assert [run.id for run in both.runs] == ["1"]
    assert both.repeats == {}
    alone = Comparison(results, [run for run in results.runs() if run.config.get("evaluate")])
    assert [run.id for run in alone.runs] == ["2"]


def test_two_seeds_have_no_interval_and_ties_no_star(folder):
    """What the first suite of a user shows: two seeds, and algorithms that have won nothing yet."""
    for name, won in (("qmix", 0.0), ("vdn", 0.0), ("iql", 0.0)):
        folder.add([0.0] * 5 + [won], name=name, key=WON)
        folder.add([0.0] * 6, name=name, key=WON)
        folder.add([0.0] * 5 + [0.1 if name == "iql" else 0.0], name=name, key=WON, map_name="8m")
        folder.add([0.0] * 4 + [0.6 if name == "iql" else 0.0] * 2, name=name, key=WON, map_name="8m")
    warned, *cards = folder.results(metric=WON)
    text = said(warned)[0]
    assert "Every cell has fewer than 5 runs, too few for a 95 % interval: the lowest and the highest run" in text
    shown = str([card.to_plotly_json() for card in cards])
    assert "interquartile mean over runs with lowest and highest run" in shown and "95 %" not in shown
    assert "0.02 to 0.24 · n = 2" in shown and shown.count("className='best'") == 1 and shown.count("<b>0.13</b>") == 1
    # and the default band of the curves is as wide as the runs are apart
    for index, card in enumerate(folder.shown(f"metric={WON}").figures):
        figure = next(part.figure for part in parts_of(card, "Graph"))
        assert max(np.nanmax(trace.y) for trace in figure.data) == (0.0, 0.6)[index]
        assert figure.layout.yaxis.title.text.endswith("<sub>interquartile mean with lowest and highest run</sub>")
