"""Reports: one file that opens offline, with the requested parts, and errors with remedies."""

import json
import re
import sys
from datetime import timedelta

import numpy as np
import pytest

from browser.figures import paper
from browser.reading.curve_files import CurveFile, RunCurve, write_curves
from browser.report import content
from browser.report.arguments import Options
from browser.report.latex import as_fragment
from browser.report.tables import as_latex, latex_text
from browser.report.writing import drawn
from browser.stats import Estimate
from report import main
from results_folders import START, write_log, write_run, write_seeds

pytestmark = pytest.mark.usefixtures("own_cache")
SCORES = {"qmix": {"3m": [10.0, 12.0, 14.0], "8m": [4.0, 5.0]}, "vdn": {"3m": [6.0, 8.0, 7.0], "8m": [9.0, 3.0]}}


@pytest.fixture
def results(tmp_path):
    write_seeds(tmp_path / "results", SCORES)
    return tmp_path / "results"


def report(results, tmp_path, *words):
    out = tmp_path / "report.html"
    assert main([str(results), "--out", str(out), *words]) == 0
    return out.read_text()


def own_parts(page):
    """The page without plotly's script."""
    script = max(re.findall(r"<script>.*?</script>", page, re.DOTALL), key=len)
    assert page.count(script) == 1 and "plotly.js v" in script
    return page.replace(script, "")


def figures_of(page):
    found = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    return [json.loads(text) for text in found]


def table_after(page, heading):
    table = page[page.index(f">{heading}<") :].partition("</table>")[0]
    return [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in table.split("</tr>")[:-1]]


def test_a_report_has_its_sections_and_loads_nothing(results, tmp_path):
    page = own_parts(report(results, tmp_path))
    headings = re.findall(r"<h[123]>(.*?)</h", page)
    assert headings == [
        *("Runs in results", "Runs", "test return (test_return_mean)", "Learning curves", "Algorithm × map"),
        *("Over all maps", "Config differences"),
    ]
    assert "default-src 'none'" in page
    assert (
        "Test return over environment steps on 3m: interquartile mean with lowest and highest run, n = 3 runs." in page
    )
    assert "n = 2 runs on each map" in page or "2 to 3 runs" in page
    assert not re.search(r"(src|href)\s*=|@import|https?://", page)
    names = [[trace.get("name") for trace in figure["data"]] for figure in figures_of(page)]
    assert len(names) == 2 + 4 and "qmix (n = 3)" in names[0] and "vdn (n = 2)" in names[1]


def test_tables_have_the_runs_and_their_differences(results, tmp_path):
    page = report(results, tmp_path)
    headings, *rows = table_after(page, "Runs")
    assert len(rows) == 10
    first = dict(zip(headings, next(row for row in rows if row[0] == "1"), strict=True))
    assert (first["status"], first["algorithm"], first["map"], first["seed"]) == ("COMPLETED", "qmix", "3m", "0")
    assert (first["steps"], first["test return, best test"], first["commit"]) == ("2,000", "10", "c0ffee")
    differences = {row[0]: row[1:] for row in table_after(page, "Config differences")}
    assert differences["env_args.map_name"] == ["3m, 8m", "3m, 8m"] and differences["name"] == ["qmix", "vdn"]


def test_the_absolute_metric_is_a_column_and_a_score(results, tmp_path):
    again = {"qmix": {"3m": [9.0, 10.0, 11.0]}}
    for seed, value in enumerate(again["qmix"]["3m"]):
        log = results / "runs" / f"qmix_seed{seed}_3m_{seed + 1}" / "metrics.csv"
        log.write_text(f"{log.read_text()}2001,200,20,absolute_return_mean,{value}\n")
    page = report(results, tmp_path, "--metric", "test_return_mean", "--score", "absolute")
    headings, *rows = table_after(page, "Runs")
    at = headings.index("test return, absolute metric")
    assert [row[at] for row in rows if row[0] in ("1", "4")] == ["", "9"]
    heat = next(figure for figure in figures_of(page) if figure["data"][0]["type"] == "heatmap")
    assert heat["data"][0]["text"][0][0].startswith("10.00<br>") and heat["data"][0]["y"] == ["qmix"]
    assert re.search(r"Test return, absolute metric: [^<]*n = 3 runs", page)


def test_published_curves_are_drawn_and_not_counted(results, tmp_path, capsys):
    runs = [
        RunCurve(f"a{seed}", "a", "skirmish", "3m", seed, 9, [], steps=[0, 9], values=[1.0, 20.0]) for seed in (1, 2)
    ]
    write_curves(tmp_path / "mine.json", CurveFile("mine", "", "test_return_mean", runs))
    page = report(results, tmp_path, "--reference", str(tmp_path / "mine.json"), "--reference", "presets:vdn")
    names = {trace.get("name") for figure in figures_of(page) for trace in figure["data"]}
    # the file of presets has no VDN on these maps
    assert "a (mine) (n = 2)" in names and not any("presets" in str(name) for name in names)
    assert len(table_after(page, "Runs")) == 1 + 10
    assert not any("mine" in row[0] for row in table_after(page, "Config differences"))
    for word, message in (("preset", "Did you mean 'presets'?"), ("presets:vdm", "Did you mean 'vdn'?")):
        assert main([str(results), "--reference", word]) == 2
        assert message in capsys.readouterr().err


def test_the_matrix_is_that_of_the_scores(results, tmp_path):
    heat = next(
        figure
        for figure in figures_of(report(results, tmp_path, "--last", "1"))
        if figure["data"][0]["type"] == "heatmap"
    )
    text = heat["data"][0]["text"]
    assert text[0][0] == "<b>12.00</b><br>10.00 to 14.00<br>n = 3" and text[0][1].startswith("4.50<br>")
    assert text[1][1].startswith("<b>6.00</b>"), "the best of a map is bold"
    assert heat["data"][0]["x"] == ["3m", "8m"] and heat["data"][0]["y"] == ["qmix", "vdn"]


def test_thresholds_say_how_many_got_there(results, tmp_path):
    page = report(results, tmp_path, "--threshold", "5")
    rows = table_after(page, "test_return_mean of at least 5")[1:]
    assert rows == [
        ["qmix", "3m", "3 of 3", "1,000", "0.00"],
        ["qmix", "8m", "1 of 2", "never (most runs)", "never (most runs)"],
        ["vdn", "3m", "3 of 3", "2,000", "0.01"],
        ["vdn", "8m", "1 of 2", "never (most runs)", "never (most runs)"],
    ]


@pytest.mark.slow
def test_images_and_export(results, tmp_path):
    words = ["--png", tmp_path / "png", "--svg", tmp_path / "svg", "--pdf", "--marl-eval", tmp_path / "runs.json"]
    report(results, tmp_path, *map(str, words), "--latex", "--label", "qmix=QMIX", "--label", "3m=three & marines")
    names = ["aggregates", "curves", "improvement", "matrix", "profiles"]
    for folder, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("figures", b"%PDF")):
        files = sorted((tmp_path / folder).iterdir())
        suffix = "pdf" if folder == "figures" else folder
        assert [file.name for file in files] == [f"test_return_mean_{name}.{suffix}" for name in names]
        assert all(file.read_bytes().startswith(start) for file in files)
    drawing = (tmp_path / "svg" / "test_return_mean_curves.svg").read_text()
    assert (
        "Test return over environment steps on three &amp; marines and 8m" in drawing and "n = 2 to 3 runs" in drawing
    )
    paper = (tmp_path / "report.tex").read_text()
    assert r"\toprule" in paper and r"\textbf{6.00} (5.00 to 7.00), n = 3" in paper and r"three \& marines" in paper
    assert paper.count(r"\includegraphics[width=\linewidth]{figures/test_return_mean_") == len(names)
    assert paper.count(r"\caption{") == 1 + len(names) and "QMIX" in paper and "qmix" not in paper
    exported = json.loads((tmp_path / "runs.json").read_text())
    assert exported["skirmish"]["8m"]["vdn"]["seed_1"]["step_2"] == {"step_count": 2000, "test_return_mean": [3.0]}


def tabular(table):
    """The rows of a table in LaTeX."""
    body = as_latex(table, "test_return_mean").partition(r"\toprule")[2].partition(r"\bottomrule")[0]
    return [row.removesuffix(r" \\").split(" & ") for row in body.splitlines() if "&" in row]


def test_names_of_any_kind_are_letters_in_latex():
    assert latex_text("a_b & 5 % <x> |y| $1 {z} #~^\\") == (
        r"a\_b \& 5 \% \textless{}x\textgreater{} \textbar{}y\textbar{} \$1 \{z\} "
        r"\#\textasciitilde{}\textasciicircum{}\textbackslash{}"
    )
    assert latex_text("above τ, 0–1, ε²") == r"above $\tau$, 0--1, $\varepsilon$\textsuperscript{2}"
    assert latex_text("gymma/pz:simple_tag-v3") == r"gymma/\allowbreak{}pz:\allowbreak{}simple\_tag-v3"
    assert latex_text("8x8/2p") == "8x8/2p"


def fragment(results, **options):
    """What `--latex` writes of one statistic with images of all figures, before any is drawn."""
    asked = Options(results=results, **options)
    metric = content.compare(content.choose(asked)[1], "test_return_mean", asked)
    files = {name: results.parent / "figures" / f"{name}.pdf" for name in drawn(metric, paper, asked)}
    return as_fragment([metric], {metric.key: files}, results.parent / "paper.tex", asked)


def test_captions_and_tables_have_no_sign_that_latex_may_not_know(tmp_path):
    write_seeds(tmp_path / "results", {name: {"3m": [1.0, 2.0], "Füchse": [1.0, 3.0]} for name in SCORES})
    text = fragment(tmp_path / "results")
    assert set(re.findall(r"[^\x00-\x7f]", text)) == {"ü"}
    assert (
        text.count(r"\includegraphics[width=\linewidth]{figures/") > 5 and r"\resizebox{\ifdim\width>\linewidth" in text
    )


def test_floats_span_the_page_at_full_width_and_tables_have_their_caption_on_top(results):
    assert r"\begin{table}" in fragment(results) and r"\begin{figure}" in fragment(results)
    text = fragment(results, full_width=True)
    assert r"\begin{table*}" in text and r"\begin{figure*}" in text and r"\begin{figure}" not in text
    table, figure = text.partition(r"\begin{figure*}")[::2]
    assert table.index(r"\caption") < table.index(r"\begin{tabular}")
    assert figure.index(r"\includegraphics") < figure.index(r"\caption")


def test_a_wide_table_has_maps_as_rows():
    maps = [f"gymma/lbforaging:Foraging-{k}x{k}-v3" for k in (5, 8, 10)]
    cells = {key: Estimate(1.0 + k, np.nan, np.nan, 1) for k, key in enumerate(maps)}
    table = {"qmix": cells, "vdn": cells}
    head, *rows = tabular(table)
    assert head == ["test\\_return\\_mean (n = 1)", "qmix", "vdn"] and len(rows) == 3
    assert rows[2][0].endswith("Foraging-10x10-v3") and rows[2][1] == "3.00"
    narrow = {name: {"3m": cells[maps[0]], "8m": cells[maps[1]]} for name in table}
    assert [row[0] for row in tabular(narrow)][1:] == ["qmix", "vdn"]
    assert len(tabular({"qmix": dict.fromkeys(("3m", "8m", "2s3z"), cells[maps[0]])})) == 2, "a line holds it"


def test_content_of_runs_is_shown_as_text(tmp_path):
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    root = tmp_path / "results"
    config = {"name": evil, "env_args": {"map_name": evil}}
    info = {"unique_token": "a", evil: [1.0], f"{evil}_T": [0]}
    write_run(root, 1, config=config, status="FAILED", info=info, cout=evil)
    write_run(root, 2, config={"name": "vdn"}, status="RUNNING", info={"unique_token": "b"}, fail_trace=[evil])
    write_log(root, "b", [(0, 0, 0, "test_return_mean", 1.0)])
    page = own_parts(report(root, tmp_path, "--metric", evil, "--metric", "test_return_mean", "--title", evil))
    assert "alert(1)" in page and "<img" not in page and "<script>alert" not in page
    assert page.count("PROBABLY_DEAD") == 2 and "<summary>1: FAILED</summary>" in page


def test_groups_that_mix_settings_are_pointed_out(tmp_path):
    for run_id, lr in enumerate((1, 2)):
        write_run(tmp_path, run_id, config={"seed": run_id, "lr": lr}, info={"loss": [1.0], "loss_T": [5]})
    page = report(tmp_path, tmp_path)
    assert "Runs of qmix on the same map also differ in lr" in page
    assert "Remedy: report.py --group-by name,lr." in page
    assert "also differ" not in report(tmp_path, tmp_path, "--group-by", "name,lr")


def test_only_the_newest_of_a_repeated_seed(tmp_path):
    for run_id, value in enumerate((1.0, 3.0)):
        info = {"loss": [value], "loss_T": [5]}
        write_run(tmp_path, run_id, info=info, started=START + timedelta(hours=run_id))
    page = report(tmp_path, tmp_path)
    assert "Seeds repeat: qmix on two_step (seed 1)." in page and "Remedy: report.py --only newest." in page
    page = report(tmp_path, tmp_path, "--only", "newest")
    assert "1 older run is left out" in page and [row[0] for row in table_after(page, "Runs")[1:]] == ["1"]


def test_resumed_runs_count_once(tmp_path):
    write_run(tmp_path, 1, info={"unique_token": "t"}, status="INTERRUPTED")
    resumed = {"unique_token": "t", "resumed_from": {"sacred_id": "1", "t_env": 10}}
    write_run(tmp_path, 2, info=resumed, started=START + timedelta(hours=1))
    write_log(tmp_path, "t", [(0, 0, 0, "test_return_mean", 1.0), (20, 2, 1, "test_return_mean", 2.0)])
    rows = table_after(report(tmp_path, tmp_path), "Runs")[1:]
    assert [row[0] for row in rows] == ["2"] and "2 sessions: 1, 2." in rows[0][-1]


def test_runs_without_any_statistic_make_a_report_too(tmp_path):
    write_run(tmp_path, 1, info={"loss": [float("nan")], "loss_T": [0]})
    assert "No run has a value of this statistic." in report(tmp_path, tmp_path, "--metric", "loss")
    (tmp_path / "sacred" / "1" / "info.json").unlink()
    assert ">Runs<" in report(tmp_path, tmp_path)


def test_a_run_whose_record_is_broken_stands_beside_the_others(tmp_path):
    """It has values, and no map."""
    for run_id, value in enumerate((1.0, 3.0)):
        write_run(tmp_path, run_id, config={"seed": run_id}, info={"unique_token": f"t{run_id}"})
        write_log(tmp_path, f"t{run_id}", [(0, 0, 0, "test_return_mean", value)])
    (tmp_path / "sacred" / "1" / "info.json").write_text("{")
    page = report(tmp_path, tmp_path, "--pdf", str(tmp_path / "figures"))
    assert "on two_step: " in page and len(figures_of(page)) >= 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--metric", "test_retrun_mean"], "Did you mean 'test_return_mean'?"),
        (["--group-by", "nmae"], "Did you mean 'name'?"),
        (["--group-by", "map_name"], "Did you mean 'env_args.map_name'?"),
        (["--group-by", "seed"], "repetitions over seeds"),
        (["--where", "env_args.map_name=3mm"], "Did you mean '3m'?"),
        (["--where", "map_name=3m"], "Did you mean 'env_args.map_name'?"),
        (["--where", "name"], "--where is KEY=VALUE"),
        (["--where", "=3m"], "--where is KEY=VALUE"),
        (["--axis", "step"], "Did you mean 'steps'?"),
        (["--band", "iqr"], "Did you mean 'iqm'?"),
        (["--only", "newset"], "Did you mean 'newest'?"),
        (["--score", "bset"], "Did you mean 'best'?"),
        (["--smooth", "0"], "--smooth: 0 is not a whole number"),
        (["--smooth", "x"], "--smooth: x is not a whole number"),
        (["--label", "qmxi=Q"], "Did you mean 'qmix'?"),
        (["--label", "qmix=vdn"], "'qmix' and 'vdn' would have one name"),
        (["--label", "qmix"], "--label is NAME=TEXT"),
        (["--style", "icml"], "name --pdf, --svg or --png"),
        (["--metrc", "loss"], "Did you mean '--metric'?"),
        (["--out", "/dev/null/report.html"], "cannot be written"),
    ],
)
def test_mistakes_are_answered_with_remedies(results, capsys, words, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main([str(results), *words]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()


def test_a_folder_without_runs_is_refused(tmp_path, capsys):
    (tmp_path / "results").mkdir()
    assert main([str(tmp_path / "result")]) == 2
    assert "Did you mean" in capsys.readouterr().err
    assert main([str(tmp_path / "results")]) == 2
    assert "There are no runs" in capsys.readouterr().err


def test_a_missing_package_is_named_with_its_requirements(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "plotly", None)
    assert main(["results"]) == 2
    message = capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--full-width" in capsys.readouterr().out
    assert "'plotly'" in message and "pip install -r requirements-browser.txt" in message


def test_the_best_setting_of_each_algorithm_on_each_map(tmp_path):
    found = {("qmix", 1, "3m"): 5.0, ("qmix", 2, "3m"): 9.0, ("qmix", 1, "8m"): 4.0, ("qmix", 2, "8m"): 3.0}
    found |= {("vdn", 1, "3m"): 1.0, ("vdn", 2, "3m"): 0.5}
    for number, ((name, lr, map_name), score) in enumerate(found.items()):
        config = {"name": name, "lr": lr, "env": "skirmish", "env_args": {"map_name": map_name}, "seed": 1}
        write_run(tmp_path / "results", number, config=config, info={"unique_token": f"run{number}"})
        write_log(tmp_path / "results", f"run{number}", [(0, 0, 0.0, "test_return_mean", score)])
    page = report(tmp_path / "results", tmp_path, "--group-by", "name,lr", "--best-of", "name")
    _, *rows = table_after(page, "Runs")
    assert sorted(row[0] for row in rows) == ["1", "2", "4"]
    assert "which flatters it" in page


def test_the_best_is_of_a_key_that_groups(results, tmp_path, capsys):
    assert main([str(results), "--out", str(tmp_path / "r.html"), "--best-of", "lr"]) == 2
    assert "--best-of=lr: it must be one of the keys of --group-by: name." in capsys.readouterr().err
