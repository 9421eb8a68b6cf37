"""Options of other trainers' programs are refused with what stands for them here."""

import pytest

from cli.arguments import parse_arguments
from cli.foreign.options import (
    INSTEAD_OF_DIGIDEEPS,
    INSTEAD_OF_MLAGENTS,
    NO_DIGIDEEPS,
    NO_MLAGENTS,
)
from utils.errors import ConfigError

CHOICE = ["--config=qmix", "--env-config=two_step"]
DIGIDEEPS = [("Digideep", "docs/digideep.md", *item) for item in (INSTEAD_OF_DIGIDEEPS | NO_DIGIDEEPS).items()]
MLAGENTS = [("mlagents-learn", "docs/dots.md", *item) for item in (INSTEAD_OF_MLAGENTS | NO_MLAGENTS).items()]


@pytest.mark.parametrize(("program", "page", "option", "counterpart"), DIGIDEEPS + MLAGENTS)
def test_they_are_answered(program, page, option, counterpart):
    for words in ([option, "value"], [*CHOICE, f"{option}=value"]):
        with pytest.raises(ConfigError) as refusal:
            parse_arguments(words)
        message = str(refusal.value)
        assert message.startswith(f"{option} is an option of {program}; ")
        assert counterpart in message and page in message


@pytest.mark.parametrize("option", ["--resume", "--custom"])
def test_those_that_are_ours_too_say_what_they_need(option):
    with pytest.raises(ConfigError, match=f"{option} needs a name"):
        parse_arguments([option, "--load-checkpoint", "path"])
