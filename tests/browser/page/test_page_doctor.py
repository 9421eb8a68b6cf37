"""The card of what is wrong with a run."""

from browser.page.run import view
from browser.page.run.cards import CARDS
from browser.page.run.doctor import draw, follows
from browser.page.run.request import RunRequest
from page_views import context_of, text_of
from results_folders import write_log, write_run


def rows(key, *values):
    return [(10 * t, t, t, key, value) for t, value in enumerate(values)]


def test_an_ill_run_has_the_card_and_a_healthy_one_has_none(tmp_path):
    write_run(tmp_path, 1, info={"unique_token": "ill"}, config={"lr": 0.25, "t_max": 50})
    write_run(tmp_path, 2, info={"unique_token": "well"})
    write_log(tmp_path, "ill", [*rows("approx_kl", 0.1, 2.5e6), *rows("clip_fraction", 0.1, 0.94)])
    write_log(tmp_path, "well", rows("grad_norm", 1.0, 1.0, 1.0))
    context = context_of(tmp_path)
    text = text_of(view.layout(context, {"run": "1"}))
    for part in ("'Doctor'", "The policy jumps", "approx_kl was 2,500,000 after 10 steps", "lr=0.25"):
        assert part in text, part
    assert "'Doctor'" not in text_of(view.layout(context, {"run": "2"}))


def test_it_asks_each_team_and_names_keys_of_the_environment(tmp_path):
    config = {"teams": {"red": {"groups": ["red"]}, "blue": {"groups": ["blue"]}}, "env_args": {"time_limit": 7}}
    write_run(tmp_path, 1, info={"unique_token": "t"}, config=config)
    write_log(tmp_path, "t", [*rows("red/grad_norm", 0.0, 0.0, 0.0), *rows("return_mean", 0.0, 0.0, 0.0)])
    text = text_of(view.layout(context_of(tmp_path), {"run": "1"}))
    assert "The gradient is zero (red)" in text and "The gradient is zero (blue)" not in text
    assert "Now: env_args.time_limit=7." in text


def test_it_reads_the_figures_of_rollouts_and_follows_them(tmp_path):
    write_run(tmp_path, 1, info={"unique_token": "t"})
    write_log(tmp_path, "t", rows("return_mean", 1.0))
    asked = RunRequest(context_of(tmp_path), context_of(tmp_path).run("1"))
    assert draw(asked) is None
    before = follows(asked)
    lines = ["t_env,episode,seconds,key,value", "10,1,1.0,rollout/obs_largest,50000.0"]
    (tmp_path / "runs" / "t" / "diagnostics.csv").write_text("\n".join(lines) + "\n")
    assert follows(asked) != before
    assert "numbers up to 50,000" in text_of(draw(asked))


def test_rules_about_the_end_wait_for_it_and_each_part_is_shown(tmp_path):
    epsilons = rows("epsilon", 1.0, 0.95, 0.9)
    for number, status in ((1, "COMPLETED"), (2, "INTERRUPTED")):
        write_run(tmp_path, number, info={"unique_token": f"r{number}"}, config={"t_max": 20}, status=status)
        write_log(tmp_path, f"r{number}", epsilons)
    context = context_of(tmp_path)
    ended, stopped = (text_of(view.layout(context, {"run": number})) for number in "12")
    for part in ("Exploration has not ended", "'seen'", "'usual cause'", "'to change'", "epsilon_anneal_time"):
        assert part in ended
    assert "'Doctor'" not in stopped


def test_values_that_are_no_numbers_hide_nothing_and_a_new_one_draws_the_card_again(tmp_path):
    write_run(tmp_path, 1, info={"unique_token": "t"}, config={"lr": 0.25}, status="RUNNING")
    write_log(tmp_path, "t", rows("approx_kl", 0.1, "nan"))
    asked = RunRequest(context_of(tmp_path), context_of(tmp_path).run("1"))
    assert draw(asked) is None
    before = follows(asked)
    kept = [*rows("approx_kl", 0.1, "nan", 2.5e6), *rows("clip_fraction", "nan", "nan", 0.94)]
    write_log(tmp_path, "t", kept)
    assert follows(asked) != before
    assert {card.name: card.follows for card in CARDS}["doctor"] is follows
    assert "The policy jumps" in text_of(draw(RunRequest(context_of(tmp_path), context_of(tmp_path).run("1"))))
