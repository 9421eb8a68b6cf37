"""The reference of all keys: what it says follows from what the parts declare, and it is up to date."""

import subprocess
import sys
from pathlib import Path

import pytest

import cli.reference
from checks.options import declared
from checks.registries import REGISTRIES
from cli.listing import listing
from cli.reference import all_keys, as_word, commented, option_help, reference
from main import main
from utils.config.merging import CONFIG_DIR, default_config
from utils.config.options import FREE, Option
from utils.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = cli.reference.REFERENCE.read_text(encoding="utf-8")  # up to date, says the first test


def test_reference_and_comments_are_up_to_date():
    """In another process: other tests register parts."""
    done = subprocess.run(
        [sys.executable, "-m", "cli.reference", "--check"], cwd=ROOT / "src", capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_stale_files_are_told_and_written(monkeypatch, tmp_path, capsys):
    current = {name: getattr(cli.reference, name).read_text() for name in ("DEFAULTS", "REFERENCE")}
    for name, text in current.items():
        monkeypatch.setattr(cli.reference, name, tmp_path / name)
        (tmp_path / name).write_text(text.replace("discount per step", "something else"))
    assert cli.reference.main(["--check"]) == 1
    assert capsys.readouterr().out == "".join(
        f"{n} is not up to date: run make reference\n" for n in ("REFERENCE", "DEFAULTS")
    )
    assert "something else" in (tmp_path / "DEFAULTS").read_text()
    assert cli.reference.main([]) == 0
    assert (tmp_path / "DEFAULTS").read_text() == current["DEFAULTS"]
    assert cli.reference.main([]) == 0 and "REFERENCE is" in capsys.readouterr().out


def test_a_key_that_is_not_up_to_date_is_seen():
    text = (CONFIG_DIR / "default.yaml").read_text()
    assert commented(text.replace("discount per step", "something else")) == commented(text)
    assert commented("gamma: 0.5\n") == f"gamma: 0.5 # {declared()['gamma'].sentence}\n"
    assert commented('label: "a"  # b\n# gamma: 1\nown: 2 # c\n') == 'label: "a" # any text\n# gamma: 1\nown: 2 # c\n'


@pytest.mark.parametrize("key", sorted(declared()))
def test_every_key_is_explained(key, capsys):
    assert main(["--help", key]) == 0
    page = capsys.readouterr().out
    option = declared()[key]
    assert page.startswith(f"{key}: ")
    assert f"default  {as_word(option.default)}" in page
    assert all(str(choice) in page for choice in option.choices)
    assert ("resume   free" in page) == (option.resume == FREE)
    assert ("config/default.yaml" in page) == (key in default_config())
    assert f"| `{key}` | `{as_word(option.default)}` |" in WRITTEN


def test_who_reads_a_key():
    assert "read by  every learner\n" in option_help("gamma")
    assert "read by  every run\n" in option_help("t_max")
    assert "read by  vector_env=workers\n" in option_help("envs_per_worker")
    assert "mixer=qtran_base, qtran_alt\n" in option_help("rnn_hidden_dim")
    assert "values   a number, 0 or more, or null\n" in option_help("lr_finish")
    assert "values   a whole number, at least 1, at most 65536\n" in option_help("epochs")
    assert "vdn, qmix, nmix" in option_help("mixer")


def test_an_unknown_key_is_refused_with_the_nearest(capsys):
    for words in (["--help", "epochz"], ["--help=epochz"]):
        assert main(words) == 2
        assert "epochz" in (error := capsys.readouterr().err) and "Did you mean 'epochs'?" in error
    with pytest.raises(ConfigError, match="no part declares this key"):
        option_help("\x1b[31m")


def test_a_key_that_parts_declare_differently_is_explained_for_each(monkeypatch):
    for name, default in (("first", 1), ("second", 4)):
        monkeypatch.setitem(REGISTRIES["learner"]._entries, name, None)
        REGISTRIES["learner"].declare(name, object, "own", {"toy_passes": Option(default, "passes")})
    assert [(key.default, key.read_by) for key in all_keys() if key.name == "toy_passes"] == [
        (1, "learner=first"),
        (4, "learner=second"),
    ]
    assert option_help("toy_passes").count("toy_passes: passes\n") == 2


def test_a_key_that_is_read_and_not_declared_is_no_key_of_the_reference(monkeypatch):
    monkeypatch.setitem(REGISTRIES["learner"]._entries, "first", None)
    REGISTRIES["learner"].declare("first", object, "own", reads=("my_key", "mixer"))
    assert "my_key" not in reference()
    assert "first" in option_help("mixer")


def test_the_keys_of_a_part_are_listed():
    text = listing("learner=pqn_learner")
    assert text.startswith("learner=pqn_learner: PQN")
    shown = [line.split()[0] for line in text.splitlines()[1:]]
    assert {"epochs=1", "lr_finish=null", "td_lambda=0.0", "gamma=0.99"} <= set(shown)
    assert not any(word.startswith(("rollout_steps", "double_q")) for word in shown)
    assert "no keys" in listing("critic=trunk")
    with pytest.raises(ConfigError, match="Did you mean 'pqn_learner'"):
        listing("learner=pqn_lerner")
    with pytest.raises(ConfigError, match="unknown name"):
        listing("lerner=pqn_learner")
