"""Policies as ONNX files for Unity: onnxruntime decides as the controller does in tests, step after step."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from controllers import REGISTRY
from controllers.policy_step import PolicyStep
from envs.contract.fields import AGENTS, EnvSpec, FieldSpec, pymarl_spec
from experiment.onnx_export import FIRST, SECOND, exported
from helpers import fill, make_args
from modules.agents import REGISTRY as AGENT_REGISTRY
from utils.errors import ConfigError

onnxruntime = pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")

EPISODES, STEPS, N = 3, 5, 2
PYMARL = pymarl_spec({"n_agents": N, "n_actions": 4, "state_shape": 4, "obs_shape": 5, "episode_limit": STEPS})
MOVES = FieldSpec("action", (3,), low=(-1.0, -2.0, -np.inf), high=(1.0, 0.5, np.inf))
BOTH = {
    "obs/0": FieldSpec("observation", (4,)),
    "obs/1": FieldSpec("observation", (3, 2, 2)),
    "avail/0": FieldSpec("mask", (3,), "uint8", of="actions/0"),
    "avail/1": FieldSpec("mask", (2,), "uint8", of="actions/1"),
    "actions/0": FieldSpec("action", (), "int64", n=3),
    "actions/continuous": MOVES,
    "actions/1": FieldSpec("action", (), "int64", n=2),
}
TILTS = {"obs": FieldSpec("observation", (4,)), "actions": FieldSpec("action", (2,), low=-1.0, high=1.0)}
POLICY = {"mac": "policy_mac", "agent_output_type": "pi_logits", "obs_last_action": False, "obs_agent_id": False}
CASES = {
    "values": (PYMARL, {"mac": "basic_mac", "agent": "rnn"}),
    "values of one agent": ((PYMARL, 1), {"mac": "basic_mac", "agent": "rnn_layernorm"}),
    "probabilities": (
        PYMARL,
        {"mac": "basic_mac", "agent": "ff", "agent_output_type": "pi_logits", "obs_last_action": False},
    ),
    "lstm": (PYMARL, {**POLICY, "agent": "lstm", "layer_norm": True}),
    "a cell left out": (PYMARL, {**POLICY, "agent": "rnn", "use_rnn": False}),
    "both kinds": (BOTH, {**POLICY, "agent": "rnn", "normalise_observations": True, "bernoulli": True}),
    "last actions": (BOTH, {**POLICY, "agent": "ff", "obs_last_action": True, "critic": "trunk"}),
    "tanh": (TILTS, {**POLICY, "mac": "actor_mac", "agent": "ff", "squash": "tanh", "deviation": "network"}),
    "no distribution": (TILTS, {**POLICY, "mac": "actor_mac", "agent": "ff", "deviation": "none"}),
}


def spec_of(fields):
    fields, n = fields if isinstance(fields, tuple) else (fields, N)
    if isinstance(fields, EnvSpec):
        return EnvSpec(fields.fields, {AGENTS: n}, STEPS, env_info={**fields.env_info, "n_agents": n})
    return EnvSpec(fields, {AGENTS: n}, STEPS, declared=True)


def made(fields, **changes):
    """A controller with random weights, its environment's fields, and a batch of random observations and masks."""
    spec, rng = spec_of(fields), np.random.default_rng(4)
    scheme, groups, preprocess = scheme_of(spec)
    batch = EpisodeBatch(scheme, groups, EPISODES, STEPS, preprocess=preprocess)
    args = make_args(
        rnn_hidden_dim=8, n_agents=spec.groups[AGENTS], n_actions=spec.env_info.get("n_actions"), **changes
    )
    args.batch_size_run = EPISODES
    mac = REGISTRY[args.mac](batch.scheme, batch.groups, args)
    fill(mac.parameters(), scale=0.7)
    for t in range(STEPS):
        for path, field in spec.of_kind("observation").items():
            if field.group is not None:
                batch.update({path: rng.normal(2, 3, batch[path][:, t].shape)}, ts=t)
        for path in spec.of_kind("mask"):
            legal = rng.integers(2, size=batch[path][:, t].shape)
            np.put_along_axis(legal, rng.integers(legal.shape[-1], size=(*legal.shape[:-1], 1)), 1, axis=-1)
            batch.update({path: legal}, ts=t)
    for key, norm in getattr(mac, "normalisers", {}).items():
        norm.update(batch[key])
    return mac, spec, batch


def decided(mac, batch):
    """Greedy actions of every step, which the next ones know: path -> `[T, B * n, ...]`."""
    mac.init_hidden(EPISODES)
    found = []
    for t in range(STEPS):
        actions = mac.decide(batch, t, 0, test_mode=True).actions
        batch.update({path: x.unsqueeze(-1) if x.dim() == 2 else x for path, x in actions.items()}, ts=t)
        found.append(actions)
    return {path: th.stack([step[path].flatten(0, 1) for step in found]).numpy() for path in found[0]}


def session(mac, spec, version=SECOND, greedy=False):
    step = PolicyStep(mac, spec.fields, greedy)
    runtime = onnxruntime.InferenceSession(exported(step, version), providers=["CPUExecutionProvider"])
    return step, runtime


def asked(runtime, step, spec, batch, t, memory=None):
    """What Unity puts in at a step, and what comes out, by name."""
    rows = lambda x: x.flatten(0, 1).float().numpy()  # noqa: E731
    given = {f"obs_{i}": rows(batch[path][:, t]) for i, path in enumerate(step.shapes)}
    given = {name: x.transpose(0, 3, 1, 2) if x.ndim == 4 else x for name, x in given.items()}
    if step.sees_id:
        given[f"obs_{len(given)}"] = np.tile(np.eye(N, dtype=np.float32), (EPISODES, 1))
    if step.branches:
        masks = spec.of_kind("mask")
        given["action_masks"] = np.concatenate([rows(batch[path][:, t]) for path in masks], axis=1)
    if step.memory:
        given["recurrent_in"] = memory
    names = [output.name for output in runtime.get_outputs()]
    return dict(zip(names, runtime.run(names, given), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_onnxruntime_decides_as_the_controller_does(name):
    fields, changes = CASES[name]
    mac, spec, batch = made(fields, **changes)
    expected = decided(mac, batch)
    step, runtime = session(mac, spec)
    memory = np.zeros((EPISODES * spec.groups[AGENTS], 1, step.memory), np.float32)
    chosen = [path for path, field in spec.of_kind("action").items() if field.categorical]
    limits = {path: (field.low, field.high) for path, field in spec.of_kind("action").items() if not field.categorical}
    for t in range(STEPS):
        found = asked(runtime, step, spec, batch, t, memory)
        memory = found.get("recurrent_out", memory)
        if chosen:
            choices = np.stack([expected[path][t].reshape(-1) for path in chosen], axis=1)
            np.testing.assert_array_equal(found["deterministic_discrete_actions"], choices)
            assert found["discrete_actions"].shape == choices.shape
            assert found["discrete_actions"].dtype == np.int64
        for path, (low, high) in limits.items():
            low, high = np.asarray(low), np.asarray(high)
            moves = np.clip(expected[path][t], low, high)
            np.testing.assert_allclose(found["deterministic_continuous_actions"], moves, rtol=1e-5, atol=1e-5)
            assert (found["continuous_actions"] >= low - 1e-6).all()
            assert (found["continuous_actions"] <= high + 1e-6).all()
    remembers = AGENT_REGISTRY.entry(mac.args.agent).traits.get("memory", False) and mac.args.use_rnn
    assert (step.memory > 0) == bool(remembers or mac.args.obs_last_action)


def test_the_names_are_those_of_ml_agents():
    """As `3DBall.onnx` and `PushBlock.onnx` among the samples of ML-Agents DOTS, and `LSTM` models of ML-Agents 2."""
    mac, spec, _ = made(BOTH, **POLICY, agent="rnn")
    model = onnx.load_model_from_string(exported(PolicyStep(mac, spec.fields)))
    shapes = {
        value.name: [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in (*model.graph.input, *model.graph.output)
    }
    assert shapes == {
        "obs_0": ["batch", 4],
        "obs_1": ["batch", 2, 3, 2],
        "action_masks": ["batch", 5],
        "recurrent_in": ["batch", 1, 8],
        "version_number": [1],
        "memory_size": [1],
        "continuous_action_output_shape": [1],
        "continuous_actions": ["batch", 3],
        "deterministic_continuous_actions": ["batch", 3],
        "discrete_action_output_shape": [1, 2],
        "discrete_actions": ["batch", 2],
        "deterministic_discrete_actions": ["batch", 2],
        "recurrent_out": ["batch", 1, 8],
    }
    constants = {weights.name: onnx.numpy_helper.to_array(weights).tolist() for weights in model.graph.initializer}
    assert constants["version_number"] == [3]
    assert constants["memory_size"] == [8]
    assert constants["continuous_action_output_shape"] == [3]
    assert constants["discrete_action_output_shape"] == [[3, 2]]
    assert (model.ir_version, model.opset_import[0].version) == (6, 9)
    # Barracuda has no such operations
    assert not {"GRU", "LSTM", "LayerNormalization"} & {node.op_type for node in model.graph.node}


def test_drawn_actions_have_the_policys_distribution():
    mac, spec, batch = made(TILTS, **POLICY, agent="ff", first_deviation=0.2)
    _, runtime = session(mac, spec)
    many = {"obs_0": np.repeat(batch["obs"][:1, 0, 0].numpy() / 10, 20000, axis=0)}
    drawn, greedy = runtime.run(["continuous_actions", "deterministic_continuous_actions"], many)
    deviation = mac.policy.log_std["actions"].exp().detach().numpy()
    mean = mac.agent(th.from_numpy(many["obs_0"][:1]), mac.agent.init_hidden())[0].detach().numpy()
    np.testing.assert_allclose(greedy[:1], np.clip(mean, -1, 1), atol=1e-6)
    expected = np.clip(mean + deviation * np.random.default_rng(0).normal(size=(20000, 2)), -1, 1)
    np.testing.assert_allclose(drawn.mean(0), expected.mean(0), atol=0.02)
    np.testing.assert_allclose(drawn.std(0), expected.std(0), atol=0.02)
    _, fixed = session(mac, spec, greedy=True)
    np.testing.assert_allclose(fixed.run(["continuous_actions"], many)[0], greedy, atol=1e-6)


def test_choices_are_drawn_by_their_probabilities():
    mac, spec, batch = made(PYMARL, **POLICY, agent="ff")
    _, runtime = session(mac, spec)
    masks = np.tile(np.array([[1, 0, 1, 1]], np.float32), (20000, 1))
    many = {"obs_0": np.repeat(batch["obs"][:1, 0, 0].numpy() / 10, 20000, axis=0), "action_masks": masks}
    drawn = runtime.run(["discrete_actions"], many)[0][:, 0]
    logits = mac.agent(th.from_numpy(many["obs_0"][:1]), mac.agent.init_hidden())[0].detach()[0]
    logits[1] = -np.inf
    shares = np.bincount(drawn, minlength=4) / len(drawn)
    np.testing.assert_allclose(shares, logits.softmax(-1).numpy(), atol=0.015)


def test_the_first_version_draws_by_unitys_numbers():
    """`vector_observation`, `epsilon` and `action`, as the Barracuda processor of DOTS at 2ea58e4 has them."""
    fields = {"obs/0": TILTS["obs"], "obs/1": FieldSpec("observation", (3,)), "actions": TILTS["actions"]}
    mac, spec, batch = made(fields, **POLICY, agent="ff")
    expected = decided(mac, batch)["actions"][2]
    _, runtime = session(mac, spec, FIRST)
    seen = th.cat([batch["obs/0"][:, 2], batch["obs/1"][:, 2]], dim=-1).flatten(0, 1).numpy()
    noise = np.random.default_rng(1).normal(size=expected.shape).astype(np.float32)
    (action,) = runtime.run(["action"], {"vector_observation": seen, "epsilon": noise})
    deviation = mac.policy.log_std["actions"].exp().detach().numpy()
    np.testing.assert_allclose(action, np.clip(expected + deviation * noise, -1, 1), atol=1e-5)
    names = ["version_number", "memory_size", "is_continuous_control", "action_output_shape"]
    assert [x.tolist() for x in runtime.run(names, {"vector_observation": seen, "epsilon": noise})] == [
        [2],
        [0],
        [1],
        [2],
    ]


@pytest.mark.parametrize("greedy", [False, True])
def test_the_first_version_puts_out_log_probabilities_of_choices(greedy):
    mac, spec, batch = made(PYMARL, **POLICY, agent="ff")
    expected = decided(mac, batch)["actions"][1].reshape(-1)
    _, runtime = session(mac, spec, FIRST, greedy)
    given = {"vector_observation": batch["obs"][:, 1].flatten(0, 1).numpy()}
    given["action_masks"] = batch["avail_actions"][:, 1].flatten(0, 1).float().numpy()
    (log_probs,) = runtime.run(["action"], given)
    assert log_probs.argmax(1).tolist() == expected.tolist()
    probs = np.exp(log_probs)
    np.testing.assert_allclose(probs.sum(1), 1, atol=1e-5)
    assert (probs[given["action_masks"] == 0] == 0).all()
    assert not greedy or set(probs.flatten()) == {0, 1}


def test_an_input_without_effect_stays():
    """Unity sets `epsilon` whatever the model does with it."""
    mac, spec, _ = made(TILTS, **{**POLICY, "mac": "actor_mac"}, agent="ff", deviation="none")
    _, runtime = session(mac, spec, FIRST)
    assert [given.name for given in runtime.get_inputs()] == ["vector_observation", "epsilon"]


@pytest.mark.parametrize(
    ("fields", "changes", "version", "words"),
    [
        (PYMARL, {"mac": "basic_mac", "agent": "rnn", "share_params": False}, SECOND, "weights of its own"),
        (PYMARL, {"mac": "basic_mac", "agent": "rnn"}, FIRST, "a memory"),
        (BOTH, {**POLICY, "agent": "ff"}, FIRST, "no vectors"),
        (PYMARL, {**POLICY, "agent": "ff", "obs_agent_id": True}, FIRST, "the agent's number"),
    ],
)
def test_what_has_no_place_is_refused(fields, changes, version, words):
    mac, spec, _ = made(fields, **changes)
    with pytest.raises(ConfigError, match=words):
        exported(PolicyStep(mac, spec.fields), version)


def test_networks_of_pictures_and_controllers_of_ones_own_are_refused():
    picture = {**TILTS, "obs": FieldSpec("observation", (3, 40, 40), "uint8")}
    mac, spec, _ = made(picture, **POLICY, agent="cnn")
    with pytest.raises(ConfigError, match=r"agent=cnn cannot be exported: it sees pictures"):
        PolicyStep(mac, spec.fields)
    with pytest.raises(ConfigError, match=r"The controller SimpleNamespace cannot be exported"):
        PolicyStep(SimpleNamespace(), {})
