"""A folder as a plugin: its files import each other by the paths of a fork, and Muster's where it has none."""

import sys
from operator import attrgetter

import cloudpickle
import pytest
import torch as th

from checks import check_config
from checks.unused_keys import warnings_of
from components.episode_buffer import EpisodeBatch
from modules.mixers import REGISTRY
from modules.mixers.qmix import QMixer
from modules.mixers.vdn import VDNMixer
from own_parts import registries_restored
from utils.config.merging import default_config
from utils.config.user_code import importable, lies_in
from utils.config.user_modules import imported
from utils.errors import ConfigError
from utils.tensors.redirected import redirected

FILES = {
    "__init__.py": "from learners.q_learner import QLearner\nfrom own_scale import HALF\nimport modules.mixers.halved",
    "own_scale.py": "HALF = 0.5",
    "modules/layers/scale.py": """
import torch as th
from own_scale import HALF
def scale(x):
    return x * th.tensor(HALF).cuda()
""",
    "modules/mixers/__init__.py": """
REGISTRY = {}
from .halved import HalvedMixer
REGISTRY["halved"] = HalvedMixer
""",
    "modules/mixers/halved.py": """
import modules.layers.scale as scaling
import modules.mixers.qmix
from modules.mixers import REGISTRY, vdn
from modules.mixers.vdn import VDNMixer
from .vdn import VDNMixer as Same
QMixer = modules.mixers.qmix.QMixer
class HalvedMixer(VDNMixer):
    def forward(self, qs, states):
        from modules.layers.scale import scale
        assert vdn.VDNMixer is VDNMixer is Same and scale is scaling.scale
        return scale(super().forward(qs, states))
""",
}


def write(folder, **more):
    for name, text in {**FILES, **more}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def parts(tmp_path):
    with registries_restored():
        yield imported("plugins", str(write(tmp_path / "grove-parts")))


def test_its_files_import_each_other_and_ours(parts):
    mixer = REGISTRY["halved"]()
    assert mixer(th.ones(2, 3, 4), None).tolist() == th.full((2, 3, 1), 2.0).tolist()
    assert parts.HALF == 0.5 and isinstance(mixer, VDNMixer)
    assert sys.modules["grove_parts.modules.mixers.halved"].QMixer is QMixer
    # what everyone else imports stays ours
    assert "modules.layers" not in sys.modules and not hasattr(sys.modules["modules.mixers"], "halved")
    assert imported("plugins", parts.__path__[0]) is parts


def test_a_compiled_kernel_is_found_by_the_process_that_compiles_it(parts):
    plugin, name = importable("grove_parts.modules.layers.scale", "scale")
    assert attrgetter(name)(imported("plugins", plugin)).__name__ == "scale"
    assert importable("modules.mixers.vdn", "VDNMixer") == ("modules.mixers.vdn", "VDNMixer")


def test_nothing_is_written_into_it(parts, tmp_path):
    assert not list(tmp_path.rglob("__pycache__"))


def test_its_classes_travel_to_processes_of_environments(parts):
    copy = cloudpickle.loads(cloudpickle.dumps(sys.modules["grove_parts.modules.layers.scale"].scale))
    assert copy(th.ones(1)).item() == 0.5
    assert b"def scale" not in cloudpickle.dumps(VDNMixer)


def test_cuda_moves_to_where_cards_are_redirected(tmp_path, monkeypatch):
    monkeypatch.setattr(th.cuda, "is_available", lambda: False)
    (tmp_path / "moving.py").write_text("def moved(x):\n    return x.cuda()\n")
    moved = imported("plugins", str(tmp_path / "moving.py")).moved
    assert moved(th.ones(1)).device.type == "cpu" and moved(th.nn.Linear(1, 1)).weight.device.type == "cpu"
    with redirected("cuda", "meta"):
        assert moved(th.ones(1)).device.type == "meta"

    class Own:
        def cuda(self):
            return "own"

    assert moved(Own()) == "own"


@pytest.mark.parametrize("call", ["super().cuda()", "nn.Module.cuda(self)"])
def test_a_networks_own_cuda_may_call_its_bases(tmp_path, monkeypatch, call):
    monkeypatch.setattr(th.cuda, "is_available", lambda: False)
    (tmp_path / "moving.py").write_text(
        "import torch.nn as nn\n"
        "class Mixer(nn.Linear):\n"
        "    def cuda(self):\n"
        "        self.called = True\n"
        f"        return {call}\n"
        "def moved(x):\n"
        "    return x.cuda()\n"
    )
    module = imported("plugins", str(tmp_path / "moving.py"))
    mixer = module.Mixer(1, 1)
    assert module.moved(mixer) is mixer and mixer.called and mixer.weight.device.type == "cpu"
    with redirected("cuda", "meta"):
        assert module.moved(mixer).weight.device.type == "meta"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("own_scale.py", "HALF = 1 / 0", r"failed at line 1 of own_scale\.py: ZeroDivisionError"),
        (
            "modules/layers/scale.py",
            "\nimport no_such_thing",
            r"at line 2 of modules/layers/scale\.py: No module named",
        ),
        ("modules/mixers/halved.py", "x = (", r"at line 1 of modules/mixers/halved\.py: SyntaxError"),
    ],
)
def test_an_error_names_file_and_line(tmp_path, name, text, words):
    with registries_restored(), pytest.raises(ConfigError, match=words):
        imported("plugins", str(write(tmp_path / "broken_parts", **{name: text})))
    assert not [name for name in sys.modules if name.startswith("broken_parts")]
    assert not [finder for finder in sys.meta_path if getattr(finder, "name", "") == "broken_parts"]


def test_a_folder_that_registers_nothing_is_refused(tmp_path):
    (tmp_path / "idle").mkdir()
    with pytest.raises(ConfigError, match="registers nothing: it has no __init__"):
        imported("plugins", f"{tmp_path}/idle")
    with pytest.raises(ConfigError, match=r"there is no folder .*/none"):
        imported("plugins", f"{tmp_path}/none")


def test_a_fork_has_the_batches_of_the_run(tmp_path, parts):
    """The whole `src/` of a fork, with its copy of what the run and its runners hand each other."""
    copy = {"components/episode_buffer.py": "class EpisodeBatch:\n    pass\n", "components/__init__.py": ""}
    init = "import components.episode_buffer\nfrom components.episode_buffer import EpisodeBatch as One"
    write(tmp_path / "fork", **copy, **{"__init__.py": f"{init}\nfrom .components.episode_buffer import EpisodeBatch"})
    fork = imported("plugins", f"{tmp_path}/fork")
    assert fork.EpisodeBatch is fork.One is fork.components.episode_buffer.EpisodeBatch is EpisodeBatch
    (warning,) = warnings_of(check_config({**default_config(), "plugins": [f"{tmp_path}/fork", parts.__path__[0]]}))
    assert warning.startswith(f"{tmp_path}/fork/components/episode_buffer.py is not used: ")


def test_a_name_alone_is_a_folder_if_it_is_a_package(tmp_path):
    write(tmp_path / "grove_parts")
    (tmp_path / "torch").mkdir()
    assert lies_in(tmp_path, "grove_parts") and not lies_in(tmp_path, "torch") and lies_in(tmp_path, "./torch")
