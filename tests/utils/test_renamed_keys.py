"""Former names of config keys: wherever they come from, they mean the present ones."""

import hashlib
import json
import logging
from pathlib import Path
from types import SimpleNamespace

import pytest

from browser.reading.configs import flatten, key_suggestion
from checkpoints.resumption import Resumption
from checks.changes import check_changes
from checks.options import declared
from cli.arguments import parse_arguments
from cli.compose import compose_config
from cli.reference import option_help
from main import main
from records.find_run import FoundRun
from run import run
from suites.plan.expansion import Point, expanded, run_id
from suites.plan.suite_file import read_suite
from utils.config.merging import default_config, with_defaults
from utils.config.renamed_keys import (
    KEYS,
    OPPOSITES,
    VALUES,
    note_of_former_names,
    with_former_names,
    with_new_names,
)
from utils.errors import ConfigError

FORMER = {"replay_ratio": 2, "teams": {"red": {"recompute_log_prob": True}}, "lr": 0.1}
PRESENT = {"samples_per_insert": 2, "teams": {"red": {"use_rollout_log_probs": False}}, "lr": 0.1}
CHOICE = ["--config=ippo", "--env-config=two_step"]


@pytest.fixture(autouse=True)
def no_former_names():
    note_of_former_names()


@pytest.mark.parametrize("former", KEYS)
def test_every_former_key_is_one_that_is_declared_now(former):
    key, options = KEYS[former], declared()
    default = options[key].default
    (value,) = with_new_names({former: default}).values()
    assert former not in options and value == (not default if former in OPPOSITES else default)
    first = next((old for old, new in VALUES.get(key, {}).items() if new == default), default)
    assert with_former_names({key: value}) == {former: first}
    assert note_of_former_names() == (
        f"Former names, which still work: {former}={default} is now {key}={value}."
        if former in OPPOSITES
        else f"Former names, which still work: {former} is now {key}."
    )
    assert f"{key}: " in option_help(former) and f"formerly {former}" in option_help(key)


@pytest.mark.parametrize(("key", "former", "value"), [(key, *pair) for key in VALUES for pair in VALUES[key].items()])
def test_every_former_value_is_one_that_is_allowed_now(key, former, value):
    assert with_new_names({key: former}) == {key: value}
    assert with_former_names({key: value}) == {{new: old for old, new in KEYS.items()}.get(key, key): former}
    assert note_of_former_names() == f"Former names, which still work: {key}={former} is now {key}={value}."


def test_keys_of_teams_and_all_others_in_their_order():
    assert list(with_new_names(FORMER).items()) == list(PRESENT.items())
    assert with_former_names(PRESENT) == FORMER
    assert FORMER["teams"] == {"red": {"recompute_log_prob": True}}


def test_both_names_may_have_one_value_but_not_two():
    assert with_new_names({"recompute_log_prob": True, "use_rollout_log_probs": False}) == {
        "use_rollout_log_probs": False
    }
    both = {"teams": {"red": {"replay_ratio": 2, "samples_per_insert": 4}}}
    with pytest.raises(ConfigError, match=r"^replay_ratio=2 and samples_per_insert=4: replay_ratio is the former"):
        with_new_names(both)
    assert with_new_names(both, recorded=True) == {"teams": {"red": {"samples_per_insert": 4}}}


def test_the_words_after_with():
    words = "replay_ratio=2 teams.red.recompute_log_prob=True teams={'blue':{'choices_only':False}} message=1e5".split()
    parsed = parse_arguments([*CHOICE, "with", *words])
    assert parsed.settings == {
        "samples_per_insert": 2,
        "teams": {"blue": {"mask_forced_actions": False}},
        "message": 1e5,
    }
    assert parsed.sacred == [
        "with",
        "samples_per_insert=2",
        "teams.red.use_rollout_log_probs=False",
        "teams={'blue': {'mask_forced_actions': False}}",
        "message=1e5",
    ]
    assert parsed.texts["samples_per_insert"] == "2"
    with pytest.raises(ConfigError, match="samples_per_insert=3 and replay_ratio=2: replay_ratio is the former"):
        parse_arguments([*CHOICE, "with", "samples_per_insert=3", "replay_ratio=2"])
    parse_arguments([*CHOICE, "with", "samples_per_insert=2", "replay_ratio=2"])


def test_a_file_of_the_users_own(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("learner: ppo_learner\nchoices_only: False\nrecompute_log_prob: True\n")
    config = compose_config(str(path), "two_step").config
    assert config["mask_forced_actions"] is False and config["use_rollout_log_probs"] is False
    path.write_text("choices_only: False\nmask_forced_actions: True\n")
    with pytest.raises(ConfigError, match=r"mine\.yaml: choices_only=False and mask_forced_actions=True"):
        compose_config(str(path), "two_step")


def test_parts_that_are_built_by_hand():
    args = with_defaults(SimpleNamespace(replay_ratio=2, recompute_log_prob=True))
    assert args.samples_per_insert == 2 and args.use_rollout_log_probs is False


def test_a_run_says_it_once(caplog, tmp_path):
    config = {"t_max": 2, "batch_size": 1, "test_nepisode": 1, "replay_ratio": 0, "local_results_path": str(tmp_path)}
    config["native_processes"] = 4
    with caplog.at_level(logging.INFO):
        run(config, log=logging.getLogger("muster"))
        run({**default_config(), **{key: value for key, value in config.items() if key != "replay_ratio"}})
    assert caplog.text.count("Former names, which still work: replay_ratio is now samples_per_insert.") == 1
    assert "native_processes=4 has no effect any more: threads step the copies of a batch" in caplog.text


def test_a_wrong_key_is_near_to_former_names_too(capsys):
    assert main([*CHOICE, "with", "replay_ratios=2"]) == 2
    assert "Unknown key 'replay_ratios'. Did you mean 'samples_per_insert'?" in capsys.readouterr().err


def test_former_keys_have_no_effect_and_leave_the_ids_of_runs_as_they_were():
    assert with_new_names({"native_processes": 1, "lr": 0.1}) == {"lr": 0.1} and note_of_former_names() == ""
    record = {"native_processes": 4, "teams": {}}
    assert with_new_names(record, recorded=True) == record and note_of_former_names() == ""
    digest = hashlib.sha256(b'{"native_processes": 4}').hexdigest()[:8]
    assert run_id(Point(1, "a", "b", "", {}, {}), {"native_processes": 4, "lr": 1}, {"lr": 1}) == f"a-b-s1-{digest}"
    config = {**default_config(), "vector_env": "batched", "native_processes": 4}
    check_changes(config, {**config, "native_processes": 2})
    assert parse_arguments([*CHOICE, "with", "native_processes=1"]).settings == {}


def test_a_suite_and_the_ids_of_its_runs(tmp_path):
    path = tmp_path / "suite.yaml"
    path.write_text(
        "algorithms: [ippo]\nenvironments: [two_step]\nsettings: {replay_ratio: 2, choices_only: False}\n"
        "overrides: {uses: {few: {samples_per_insert: 1}, many: {replay_ratio: 4}}}\n"
        "search: {method: grid, space: {choices_only: {choice: [True, False]}}}\n"
    )
    settings = [point.settings for point in expanded(read_suite(path))]
    assert [(own["samples_per_insert"], own["mask_forced_actions"]) for own in settings] == [
        (1, True),
        (1, False),
        (4, True),
        (4, False),
    ]
    # as it was computed of {"replay_ratio": 4}
    digest = hashlib.sha256(b'{"recompute_log_prob": true, "replay_ratio": 4}').hexdigest()[:8]
    config, defaults = {"samples_per_insert": 4, "use_rollout_log_probs": False}, {"samples_per_insert": 0}
    assert run_id(Point(1, "a", "b", "", {}, {}), config, defaults) == f"a-b-s1-{digest}"


def test_records_of_earlier_runs(tmp_path):
    for folder, name, content in (("sacred/1", "config.json", FORMER), ("sacred/1", "info.json", {})):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / name).write_text(json.dumps(content))
    assert FoundRun(tmp_path, "token", "1").config() == PRESENT
    checkpoint = SimpleNamespace(manifest={"config": FORMER})
    assert Resumption("token", Path(tmp_path), checkpoint).recorded == PRESENT
    assert flatten(FORMER) == flatten(PRESENT)
    assert flatten(PRESENT)[0]["teams.red.use_rollout_log_probs"] is False
    assert key_suggestion("replay_ratio", {"lr", "samples_per_insert"}) == " Its name is now 'samples_per_insert'."
    assert note_of_former_names() == ""
