"""PyMARL's command line."""

import pytest
from sacred.experiment import gather_command_line_options

from cli.arguments import parse_arguments
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
    """Messages recommend mixer=null; Sacred would take it for a word. A text may be `null`."""
    settings = ["mixer=null", "env_args.payoff=null", "my_own=null", "name=nullify", "label=null", "label=a=null"]
    words = ["--config=a", "--env-config=b", "with", *settings]
    expected = ["with", "mixer=None", "env_args.payoff=None", "my_own=None", *settings[3:]]
    assert parse_arguments(words).sacred == expected


@pytest.mark.parametrize(
    ("words", "action"),
    [([], "help"), (["help"], "help"), (["--help"], "help"), (["-h"], "help"), (["--list"], "list")],
)
def test_pages(words, action):
    assert parse_arguments(words).action == action


@pytest.mark.parametrize(
    "words", [["--config"], ["--config="], ["--config=a", "--config=b"], ["--list", "--frobnicate"]]
)
def test_words_that_make_no_sense(words):
    with pytest.raises(ConfigError):
        parse_arguments(words)


OPTIONS = [option for option in gather_command_line_options() if "--help" not in option.get_flags()]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.get_flags()[1])
def test_every_option_of_sacreds_is_known(option, monkeypatch):
    """Whether it takes a value is as Sacred says."""
    monkeypatch.setattr("cli.sacred_words.check_option", lambda option, value: None)
    choice = ["--config=a", "--env-config=b"]
    for flag in option.get_flags():
        if option.arg is None:
            assert parse_arguments([flag, *choice]).sacred == [flag]
        else:
            assert parse_arguments([flag, "x", *choice]).sacred == [flag, "x"]
            assert parse_arguments([f"{flag}=x", *choice]).sacred == [f"{flag}=x"]
            with pytest.raises(ConfigError, match=f"The option {flag} needs a value"):
                parse_arguments([*choice, flag])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--confg=qmix"], r"Unknown option '--confg'. Did you mean '--config'\?"),
        (["--unobservd"], r"Unknown option '--unobservd'. Did you mean '--unobserved'\?"),
        (["--conf=qmix"], "Unknown option '--conf'"),
        (["-x"], "Unknown option '-x'"),
        (["-ux"], "Unknown option '-ux'"),
        (["--unobserved=yes"], "Unknown option '--unobserved'"),
        (["--"], "Unknown option '--'"),
        (["-" * 5000], r"Unknown option '-{20,}\.\.\.'"),
        (["prnt_config"], "Unknown command 'prnt_config'. Did you mean 'print_config'"),
        (["help", "prnt_config"], "There is no command 'prnt_config'"),
        (["lr=1", "with"], "'lr=1' stands before 'with'"),
        (["with", "lr=1", "-lLOUD"], "-l LOUD: it must be one of"),
    ],
)
def test_mistakes_are_named_with_the_nearest_choice(words, message):
    with pytest.raises(ConfigError, match=message):
        parse_arguments(words)
