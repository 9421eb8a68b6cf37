"""What a suite's file may say, and what is refused."""

import pytest

from suites.plan.suite_file import read_suite, suite_path
from utils.errors import ConfigError

LEAST = {"algorithms": "[qmix]", "environments": "[two_step]"}


def written(tmp_path, **keys):
    lines = [f"{key}: {value}" for key, value in {**LEAST, **keys}.items() if value is not None]
    path = tmp_path / "mine.yaml"
    path.write_text("\n".join(lines))
    return path


def test_a_short_file_gets_the_defaults(tmp_path):
    suite = read_suite(written(tmp_path))
    assert (suite.name, suite.seeds, suite.scenarios) == ("mine", [1], [("two_step", "")])
    assert read_suite(written(tmp_path, name="1e5")).name == "1e5"
    assert suite.resources == {
        "jobs": 0, "cores": 1, "threads": 1, "gpus": None, "memory": 0, "hours": 0, "slurm": [],
        "shell": [], "inside": "", "losses": 5,
    }  # fmt: skip


def test_maps_are_those_of_every_environment_or_of_each(tmp_path):
    suite = read_suite(written(tmp_path, environments="[skirmish, sc2]", maps="[3m, 8m]"))
    assert suite.scenarios == [("skirmish", "3m"), ("skirmish", "8m"), ("sc2", "3m"), ("sc2", "8m")]
    suite = read_suite(written(tmp_path, environments="[skirmish, two_step]", maps="{skirmish: [3m, 8m]}"))
    assert suite.scenarios == [("skirmish", "3m"), ("skirmish", "8m"), ("two_step", "")]


def test_a_star_stands_for_any_text_of_a_condition(tmp_path):
    games = "[a:one-v0, a:two-v0, b:one-v0, b:one-v01, 'a.x']"
    case = "[{when: {map: ['a:*', '*one-v0'], algorithm: '*mi*'}, settings: {lr: 1}}]"
    suite = read_suite(written(tmp_path, maps=games, cases=case, exclude="[{map: '*.*'}]", seeds="[1, 2]"))
    # each once, in the order of the condition; a dot is a dot, and an end is the end
    assert suite.cases == [({"map": ["a:one-v0", "a:two-v0", "b:one-v0"], "algorithm": ["qmix"]}, {"lr": 1})]
    assert suite.excluded == [{"map": ["a.x"]}]


@pytest.mark.parametrize(
    "keys, message",
    [
        ({"algoritms": "[a]"}, "unknown key 'algoritms'. Did you mean 'algorithms'?"),
        ({"algorithms": None}, "algorithms is missing: expected a list of names"),
        ({"algorithms": "[]"}, "algorithms has []"),
        ({"algorithms": "[a, a]"}, "algorithms: a is in the list twice"),
        ({"maps": "[3]"}, "maps: 3 is not a name"),
        ({"maps": "{skirmsh: [3m]}"}, "maps: 'skirmsh' is not among the environments"),
        ({"seeds": "0"}, "seeds=0: expected how many (1 to 1000)"),
        ({"seeds": "[1, 1]"}, "seeds: 1 is in the list twice"),
        ({"seeds": "[-1]"}, "seeds: -1 is not a whole number from 0"),
        ({"settings": "{seed: 3}"}, "settings.seed: it comes from the suite's key 'seeds'"),
        ({"settings": "{t_max: 1}", "t_max": "2"}, "t_max stands in the file and among its settings"),
        ({"overrides": "[a]"}, "overrides: expected axes of named settings"),
        ({"overrides": "{rate: {}}"}, "overrides.rate={}: expected named settings"),
        ({"overrides": "{map: {a: {}}}"}, "overrides.map: every suite has an axis of this name"),
        ({"exclude": "[{algorithm: qmx}]"}, "exclude[1]: the suite has no algorithm qmx. Did you mean 'qmix'?"),
        ({"exclude": "[{algoritm: qmix}]"}, "exclude[1]: unknown key 'algoritm'. Did you mean 'algorithm'?"),
        ({"exclude": "[{}]"}, "exclude[1] is empty"),
        ({"exclude": "[{algorithm: 'x*'}]"}, "exclude[1]: the suite has no algorithm x*. Allowed: qmix"),
        ({"cases": "[{when: {seed: 1}}]"}, "cases[1]: 'settings' is missing"),
        ({"zip": "[[seed, rate]]"}, "zip: there is no axis 'rate'"),
        ({"zip": "[[seed, algorithm]]", "seeds": "2"}, "need as many values each: seed has 2, algorithm has 1"),
        ({"resources": "{cpus: 1}"}, "resources: unknown key 'cpus'"),
        ({"resources": "{gpus: 1.5}"}, "resources.gpus=1.5: a share of one GPU, or a whole number"),
        ({"resources": "{jobs: -1}"}, "resources.jobs=-1: it must be 0 or more"),
        ({"resources": "{shell: [5]}"}, "resources.shell: 5 is no line of shell"),
        ({"resources": "{slurm: [rm -rf]}"}, "resources.slurm: rm -rf is no option of sbatch"),
        ({"name": "a b"}, "name=a b: expected a plain file name: at most 60 letters, digits and _ . + -, of which"),
        ({"name": "x" * 61}, "expected a plain file name: at most 60 letters"),
        ({"name": "+x"}, "expected a plain file name: at most 60 letters"),
        ({"name": "../x"}, "name=../x: expected a plain file name: at most 60 letters"),
    ],
)
def test_mistakes_are_named(tmp_path, keys, message):
    path = written(tmp_path, **keys)
    with pytest.raises(ConfigError) as caught:
        read_suite(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_a_suite_in_the_current_folder_goes_by_its_name_too(tmp_path, monkeypatch):
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert suite_path("mine").name == "mine.yaml" and suite_path("mine.yaml").name == "mine.yaml"
    assert suite_path("skirmish_quick").is_absolute()
    with pytest.raises(ConfigError, match=r"There is no suite 'min'\..* Nor is there a file min\.yaml in /"):
        suite_path("min")


def test_an_unknown_suite_is_answered_with_the_nearest():
    with pytest.raises(ConfigError, match=r"There is no suite 'skirmish_quik'\. Did you mean 'skirmish_quick'\?"):
        suite_path("skirmish_quik")
