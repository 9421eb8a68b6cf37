"""PyMARL's command line."""

import pytest
import sacred.commandline_options
from sacred.commandline_options import CLIOption

from cli.arguments import SACRED_FLAGS, SACRED_OPTIONS, parse_arguments
from utils.errors import ConfigError


@pytest.mark.parametrize(
    "words",
    [
        ["--config=qmix", "--env-config=sc2", "with", "a=1"],
        ["--config", "qmix", "--env-config", "sc2", "with", "a=1"],
        ["--env-config=sc2", "with", "a=1", "--config=qmix"],
    ],
)
def test_both_forms_in_any_order(words):
    parsed = parse_arguments(words)
    assert (parsed.action, parsed.algorithm, parsed.environment) == ("run", "qmix", "sc2")
    assert parsed.sacred == ["with", "a=1"]


def test_sacreds_words_go_to_sacred():
    words = ["-n", "my run", "--config=a", "-u", "--comment=x y", "--env-config=b", "-lINFO", "with", "a=1", "b=-2"]
    assert parse_arguments(words).sacred == ["-n", "my run", "-u", "--comment=x y", "-lINFO", "with", "a=1", "b=-2"]
    assert parse_arguments(["print_config", "--config=a", "--env-config=b"]).sacred == ["print_config"]
    assert parse_arguments(["help", "print_config"]).sacred == ["help", "print_config"]


def test_null_is_nothing_as_in_yaml():
    """Messages recommend mixer=null; Sacred would take it for a word."""
    words = ["--config=a", "--env-config=b", "with", "mixer=null", "env_args.payoff=null", "name=nullify"]
    assert parse_arguments(words).sacred == ["with", "mixer=None", "env_args.payoff=None", "name=nullify"]


@pytest.mark.parametrize(
    ("words", "action"), [([], "help"), (["--help"], "help"), (["-h"], "help"), (["--list"], "list")]
)
def test_pages(words, action):
    assert parse_arguments(words).action == action


@pytest.mark.parametrize(
    "words", [["--config"], ["--config="], ["--config=a", "--config=b"], ["--list", "--frobnicate"]]
)
def test_words_that_make_no_sense(words):
    with pytest.raises(ConfigError):
        parse_arguments(words)


def test_our_list_of_sacreds_options_is_sacreds():
    flags, options = {"-h", "--help"}, set()
    for option in vars(sacred.commandline_options).values():
        if isinstance(option, CLIOption):
            (flags if option.is_flag else options).update(option.get_flags())
    assert set(SACRED_FLAGS) | {"-h", "--help"} == flags
    from sacred.observers import file_storage, mongo, s3_observer, sql, tinydb_hashfs

    for module in (file_storage, mongo, s3_observer, sql, tinydb_hashfs):
        for option in vars(module).values():
            if isinstance(option, CLIOption):
                options.update(option.get_flags())
    assert options <= set(SACRED_OPTIONS)
