"""Checkpoints of enn-trainer load by name, compute what they computed there, and are refused where they do not fit.

`tests/support/enn_checkpoint` was written by enn-trainer cfd26f1 after 256 steps of MineSweeper; `FIGURES` are those of
its network (rogue-net d91fb93) for three observations.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from checkpoints.enn_checkpoints import NEVER_READ
from checkpoints.model_files import find_checkpoint, load_weights, model_to_play
from cli.foreign.enn_trainer import load_enn_config
from modules.entities.rogue_net import RogueNet
from utils.errors import ConfigError
from utils.files.message_pack import packed, unpacked
from utils.tensors.optimisers import parameter_names

FOLDER = Path(__file__).parents[1] / "support" / "enn_checkpoint"
STEP = FOLDER / "latest-step000000000256"
SPACE = {"Mine": ["x", "y"], "Robot": ["x", "y"], "Orbital Cannon": ["cooldown"]}
ACTIONS = {"Move": ("categorical", 5), "Fire Orbital Cannon": ("select", None)}
NET = {"n_layer": 1, "d_model": 8, "d_qk": 4}
MASKS = [[1, 1, 1, 1, 1], [1, 1, 1, 0, 1], [1, 0, 1, 0, 1], [1, 1, 1, 0, 1]]
FIGURES = {
    "Move": [
        [-1.6390935182571411, -1.5960381031036377, -1.6594778299331665, -1.6138768196105957, -1.542744517326355],
        [-1.4046478271484375, -1.363197922706604, -1.4246673583984375, -1.354343295097351],
        [-1.1229501962661743, -1.1398757696151733, -1.036137580871582],
        [-1.4046765565872192, -1.3631395101547241, -1.4247738122940063, -1.3542747497558594],
    ],
    "Fire Orbital Cannon": [-0.2950257658958435, -1.3645813465118408],
    "value": [0.06206074729561806, 0.0633423924446106, 0.06330826133489609],
}


def network(actions=ACTIONS, space=SPACE, values=True, **net):
    return RogueNet(space, [], actions, {**NET, **net}, {"value": 1} if values else {})


def optimiser_of(*modules):
    optimiser = th.optim.Adam([p for module in modules for p in module.parameters()], lr=0.5)
    return optimiser, parameter_names(optimiser, modules)


def copied(tmp_path, **changes):
    """The stored checkpoint with changes in the text of its state."""
    folder = tmp_path / "latest-step000000000512"
    shutil.copytree(STEP, folder)
    text = (folder / "state.ron").read_text().replace("step: 256", "step: 512")
    for before, after in changes.get("state", ()):
        assert before in text
        text = text.replace(before, after)
    (folder / "state.ron").write_text(text)
    return folder


def tensor(array):
    array = np.asarray(array)
    return {b"__tensor__": "torch", b"dtype": array.dtype.str, b"shape": array.shape, b"data": array.tobytes()}


def write(folder, field, state):
    (folder / f"state.{field}.msgpack").write_bytes(packed(state, lambda value: tensor(value.numpy())))


def stored(folder, field):
    return unpacked((folder / f"state.{field}.msgpack").read_bytes())


def test_the_network_computes_what_theirs_did():
    net = network()
    load_weights(net, STEP / "agent.th")
    frames = {
        "Mine": [[(0, 2), (0, 1), (2, 2)], [(2, 1)], [(1, 0), (0, 1), (2, 2)]],
        "Robot": [[(1, 1)], [(2, 0)], [(0, 0), (2, 0)]],
        "Orbital Cannon": [[], [(0,)], []],
    }
    values, counts = {}, {}
    for name, rows in frames.items():
        values[name] = th.zeros(3, 3, len(SPACE[name]))
        counts[name] = th.tensor([len(row) for row in rows])
        for i, row in enumerate(rows):
            values[name][i, : len(row)] = th.tensor(row, dtype=th.float32).reshape(len(row), len(SPACE[name]))
    actors = {"Move": th.tensor([[3, -1], [1, -1], [3, 4]]), "Fire Orbital Cannon": th.tensor([[-1], [2], [-1]])}
    actees = {"Fire Orbital Cannon": th.tensor([[-1, -1], [0, 1], [-1, -1]])}
    logits, heads = net(values, counts, actors=actors, actees=actees)
    assert heads["value"].flatten().tolist() == pytest.approx(FIGURES["value"], abs=1e-6)
    moves = logits["Move"][[0, 1, 2, 2], [0, 0, 0, 1]]
    for row, mask, expected in zip(moves, MASKS, FIGURES["Move"], strict=True):
        assert row[np.array(mask) > 0].log_softmax(-1).tolist() == pytest.approx(expected, abs=1e-5)
    fire = logits["Fire Orbital Cannon"][1, 0].log_softmax(-1)
    assert fire.tolist() == pytest.approx(FIGURES["Fire Orbital Cannon"], abs=1e-5)


def test_the_optimiser_continues_with_the_moments_of_each_parameter():
    net = network()
    optimiser, names = optimiser_of(net)
    load_weights(optimiser, STEP / "agent_opt.th", names)
    theirs = stored(STEP, "optimizer")["state"]
    order = [name for name in stored(STEP, "agent") if name in names]
    for name, parameter in net.named_parameters():
        moments = theirs[order.index(name)]["exp_avg"]
        expected = np.frombuffer(moments[b"data"], np.float32).reshape(moments[b"shape"])
        np.testing.assert_array_equal(optimiser.state[parameter]["exp_avg"].numpy(), expected)
    assert {state["step"].item() for state in optimiser.state.values()} == {24}
    assert optimiser.param_groups[0]["lr"] == 0.5
    optimiser.step()


def test_parameters_that_are_in_another_order_or_missing_here_keep_their_moments(tmp_path):
    """As with relative positions, where theirs has a table that nothing reads; and with a value function."""
    folder = copied(tmp_path, state=[("value_function: None", 'value_function: "<blob:msgpack>"')])
    net, values = network(values=False), network({}, values=True)
    critic = SimpleNamespace(net=values, state_dict=lambda: {f"net.{k}": v for k, v in values.state_dict().items()})
    critic.load_state_dict = lambda state: values.load_state_dict({k.removeprefix("net."): v for k, v in state.items()})
    agent = {NEVER_READ: th.ones(2), **dict(reversed(list(net.state_dict().items())))}
    extra = {"auxiliary_heads.value.weight": th.zeros(1, 8), "auxiliary_heads.value.bias": th.zeros(1)}
    heads = {"action_heads.Move.proj.weight": th.zeros(5, 8), "action_heads.Move.proj.bias": th.zeros(5)}
    own = {name: parameter.detach() for name, parameter in network({}).state_dict().items()}
    write(folder, "agent", {**{k: v for k, v in agent.items() if k != NEVER_READ}, **extra})
    write(folder, "value_function", {**heads, **own})
    load_weights(net, folder / "agent.th")
    load_weights(critic, folder / "critic.th")
    assert all(th.equal(value, own[name]) for name, value in values.state_dict().items())
    with pytest.raises(ConfigError, match="critic=entities"):
        load_weights(network(), folder / "agent.th")

    def moments(names):
        of_each = lambda i: dict.fromkeys(("exp_avg", "exp_avg_sq"), th.full(shapes[names[i]], float(i)))  # noqa: E731
        return {"state": {i: {"step": th.tensor(3.0), **of_each(i)} for i in range(len(names)) if names[i] in shapes}}

    for field, of_file, module, unused, prefix in (
        ("optimizer", {**agent, **extra}, net, "agent_opt.th", ""),
        ("vf_optimizer", {**heads, **own}, values, "critic_opt.th", "net."),
    ):
        network_field = {"optimizer": "agent", "vf_optimizer": "value_function"}[field]
        write(folder, network_field, of_file)
        shapes = {name: parameter.shape for name, parameter in module.named_parameters()}
        theirs = [name for name in of_file if not name.endswith((".count", ".mean", ".squares_sum"))]
        write(folder, field, moments(theirs))
        optimiser, names = optimiser_of(module)
        state = (folder / "state.ron").read_text().replace("vf_optimizer: None", 'vf_optimizer: "<blob:msgpack>"')
        (folder / "state.ron").write_text(state)
        load_weights(optimiser, folder / unused, [f"{prefix}{name}" for name in names])
        for name, parameter in module.named_parameters():
            assert (optimiser.state[parameter]["exp_avg"] == theirs.index(name)).all(), name


def test_a_checkpoint_is_found_by_its_folder_or_the_one_above(tmp_path):
    folder = copied(tmp_path)
    shutil.copytree(STEP, tmp_path / STEP.name)
    for found in (find_checkpoint, model_to_play):
        assert found(str(tmp_path), 0)[:2] == (folder, 512)
        assert found(str(tmp_path), 300)[:2] == (tmp_path / STEP.name, 256)
        assert found(str(folder), 0)[:2] == (folder, 512)


def test_what_does_not_fit_is_refused_in_words(tmp_path):
    folder = copied(tmp_path)
    net = network()
    _, names = optimiser_of(net)
    swapped = network(space={**SPACE, "Robot": ["y", "x"]})
    for target, file, problem in (
        (swapped, "agent.th", r"features of entity type 'Robot' \['x', 'y'\]; the environment has \['y', 'x'\]"),
        (network(d_model=16), "agent.th", "does not fit this experiment's networks"),
        (network({"Move": ("categorical", 5)}), "agent.th", "Fire Orbital Cannon"),
        (net, "critic.th", r"nothing in place of critic.th.*--config=.*config\.ron"),
        (net, "mixer.th", "nothing in place of mixer.th"),
        (th.optim.Adam(network(d_model=16).parameters()), "agent_opt.th", "its optimizer does not fit"),
    ):
        with pytest.raises(ConfigError, match=problem):
            load_weights(target, folder / file, names)
    agent = stored(folder, "agent")
    first = next(iter(agent))
    for changed, problem in (
        ({**agent, first: tensor(np.array(np.nan, np.float32))}, f"cannot be used, in {first}"),
        ({**agent, first: {**tensor(np.zeros(2)), b"shape": [3]}}, "damaged: a tensor has other values"),
        ({**agent, first: {**tensor(np.zeros(2)), b"dtype": "|O"}}, "damaged"),
        ({**agent, first: 3}, "no parameters by name"),
    ):
        write(folder, "agent", changed)
        with pytest.raises(ConfigError, match=problem):
            load_weights(net, folder / "agent.th")
    (folder / "state.agent.msgpack").write_bytes((STEP / "state.agent.msgpack").read_bytes()[:-5])
    with pytest.raises(ConfigError, match="damaged: it is truncated"):
        load_weights(net, folder / "agent.th")
    shutil.copy(STEP / "state.agent.msgpack", folder)
    text = (folder / "state.ron").read_text()
    for before, after, problem in (
        ("<blob:msgpack>", "<blob:pickle>", "hold code and are not read"),
        ("State(", "Estate(", "no state of enn-trainer"),
        ("step: 512", "step: -1", "no state of enn-trainer"),
        ("obs_space: ObsSpace", "space: ObsSpace", "no obs_space"),
    ):
        (folder / "state.ron").write_text(text.replace(before, after))
        with pytest.raises(ConfigError, match=problem):
            load_weights(net, folder / "agent.th")


def test_the_settings_of_a_value_function_are_those_that_it_was_built_with(tmp_path):
    folder = copied(tmp_path)
    text = (folder / "config.ron").read_text().replace("vf_net: None", "vf_net: RogueNetConfig(d_model: 64, n_head: 4)")
    (folder / "config.ron").write_text(text)
    # enn-trainer builds it by net
    assert load_enn_config(folder / "config.ron")[0]["vf_net"]["d_model"] == 8
    (tmp_path / "config.ron").write_text(text)
    assert load_enn_config(tmp_path / "config.ron")[0]["vf_net"]["d_model"] == 64


@pytest.mark.slow
@pytest.mark.parametrize("settings", [["evaluate=True"], ["t_max=400", "test_nepisode=2"]], ids=["play", "train"])
def test_main_plays_it_and_trains_it_further(tmp_path, settings):
    main = str(Path(__file__).parents[2] / "src" / "main.py")
    words = [
        f"--config={STEP}/config.ron",
        "with",
        f"checkpoint_path={FOLDER}",
        "env_args.kwargs.compat=True",
        *settings,
    ]
    done = subprocess.run(
        [sys.executable, main, "-u", *words], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "latest-step000000000256" in done.stdout + done.stderr
    assert ("Test after 256 steps" if "evaluate=True" in settings else "Finished Training") in done.stdout + done.stderr
