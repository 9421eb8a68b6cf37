"""Options within an option, and options that do not fit together, are refused before a run starts."""

import pytest

from checks import check_config
from cli.compose import compose_config
from main import main
from utils.errors import ConfigError

WORDS = ["print_config", "--config=enn_ppo", "--env-config=entities", "with", "env_args.environment=FloorIsLava"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_head": 3}, r"^n_head=3: it must divide d_model=32"),
        ({"relpos_encoding": {"extnt": [1, 1]}}, r"^relpos_encoding.extnt: no such option. Did you mean 'extent'"),
        ({"translation": {"reference_entity": ""}}, r"^translation.reference_entity is missing"),
        ({"critic": "entities", "vf_net": {"d_modl": 64}}, r"^vf_net.d_modl: no such option. Did you mean 'd_model'"),
        ({"critic": "entities", "vf_net": {"n_head": 3}}, r"^vf_net.n_head=3: it must divide vf_net.d_model=32"),
    ],
)
def test_parts_refuse_what_they_cannot_use(changes, message):
    with pytest.raises(ConfigError, match=message):
        check_config({**compose_config("enn_ppo", "entities").config, **changes})


@pytest.mark.parametrize(
    "words",
    [
        ["relpos_encoding={'extent': [1, 1], 'position_features': ['x', 'y']}"],
        ["relpos_encoding.extent=[1, 1]", "relpos_encoding.position_features=['x', 'y']"],
    ],
)
def test_mappings_in_the_place_of_null_are_taken_from_the_command_line(words, capsys):
    assert main([*WORDS, *words]) == 0
    printed = capsys.readouterr().out
    assert "extent = [1, 1]" in printed and "position_features = ['x', 'y']" in printed


def test_keys_within_an_empty_mapping_are_taken_from_the_command_line(capsys):
    assert main([*WORDS, "critic=entities", "vf_net.d_model=64"]) == 0
    assert "d_model = 64" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["relpos_encoding.extnt=[1, 1]"], ["mixer.a=3"], ["relpos_encoding=3"]])
def test_other_settings_are_refused(words, capsys):
    assert main([*WORDS, *words]) == 2
    assert words[0].partition("=")[0].partition(".")[0] in capsys.readouterr().err
