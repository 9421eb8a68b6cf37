"""Mixers against NumPy, and what makes them what they are: monotonic, additive, blind to the order of agents."""

import numpy as np
import pytest
import torch as th
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import fill, make_args, random_batch
from modules.mixers import REGISTRY, QMixer, QTranBase, VDNMixer
from run import run

N, S, E = 3, 4, 6


def make_qmixer(layers, seed=0):
    mixer = QMixer(make_args(n_agents=N, state_shape=S, mixing_embed_dim=E, hypernet_layers=layers, hypernet_embed=5))
    fill(mixer.parameters(), seed=seed, scale=1.0)
    return mixer


def _numpy_weights(module):
    return {name: tensor.detach().numpy() for name, tensor in module.state_dict().items()}


def _linear(w, name, x):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def _mlp(w, name, x, layers):
    for i in range(layers - 1):
        x = np.maximum(_linear(w, f"{name}.{2 * i}", x), 0)
    return _linear(w, f"{name}.{2 * (layers - 1)}", x)


@pytest.mark.parametrize("layers", [1, 2])
def test_qmix_is_the_published_network(layers):
    mixer, rng = make_qmixer(layers), np.random.default_rng(0)
    qs, states = rng.normal(size=(2, 3, N)).astype("f"), rng.normal(size=(2, 3, S)).astype("f")
    w = _numpy_weights(mixer)
    hyper = (lambda name, s: _linear(w, name, s)) if layers == 1 else (lambda name, s: _mlp(w, name, s, 2))
    expected = np.zeros((2, 3, 1))
    for b in range(2):
        for t in range(3):
            s = states[b, t]
            hidden = qs[b, t] @ np.abs(hyper("hyper_w_1", s)).reshape(N, E) + _linear(w, "hyper_b_1", s)
            hidden = np.where(hidden > 0, hidden, np.exp(hidden) - 1)
            expected[b, t] = hidden @ np.abs(hyper("hyper_w_final", s)) + _mlp(w, "V", s, 2)
    q_tot = mixer(th.from_numpy(qs), th.from_numpy(states))
    np.testing.assert_allclose(q_tot.detach().numpy(), expected, rtol=1e-4, atol=1e-5)


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.sampled_from([1, 2]), st.floats(0.1, 10))
def test_qmix_never_falls_when_an_agents_value_rises(seed, layers, scale):
    mixer = make_qmixer(layers, seed=seed)
    generator = th.Generator().manual_seed(seed)
    qs = (scale * th.randn(4, 5, N, generator=generator)).requires_grad_()
    mixer(qs, scale * th.randn(4, 5, S, generator=generator)).sum().backward()
    assert qs.grad.min() >= 0
    assert qs.grad.max() > 0


def _parts(*layers):
    return {f"{layer}.{part}" for layer in layers for part in ("weight", "bias")}


def test_names_of_qmix_weights_are_pymarls():
    assert set(make_qmixer(1).state_dict()) == _parts("hyper_w_1", "hyper_w_final", "hyper_b_1", "V.0", "V.2")
    deep = _parts("hyper_w_1.0", "hyper_w_1.2", "hyper_w_final.0", "hyper_w_final.2", "hyper_b_1", "V.0", "V.2")
    assert set(make_qmixer(2).state_dict()) == deep
    with pytest.raises(ValueError, match="1 or 2, not 3"):
        make_qmixer(3)


def test_vdn_adds():
    qs = th.tensor([[[1.0, 2.0, 4.0], [0.5, -1.0, 0.0]]])
    assert VDNMixer()(qs, None).tolist() == [[[7.0], [-0.5]]]
    assert list(VDNMixer(make_args()).parameters()) == []


def make_qtran(arch, size):
    args = make_args(rnn_hidden_dim=3, mixing_embed_dim=E, qtran_arch=arch, network_size=size)
    mixer = QTranBase(args)
    fill(mixer.parameters(), scale=0.5)
    return mixer


@pytest.mark.parametrize("arch", ["qtran_paper", "coma_critic"])
@pytest.mark.parametrize(("size", "layers"), [("small", 3), ("big", 4)])
@pytest.mark.parametrize("given_actions", [True, False])
def test_qtran_is_the_published_network(arch, size, layers, given_actions):
    mixer, batch, rng = make_qtran(arch, size), random_batch([3, 2], 4), np.random.default_rng(1)
    hidden = rng.normal(size=(2, 4, 2, 3)).astype("f")
    actions = np.eye(3, dtype="f")[rng.integers(3, size=(2, 4, 2))] if given_actions else None
    q, v = mixer(batch, th.from_numpy(hidden), None if actions is None else th.from_numpy(actions))
    w = _numpy_weights(mixer)
    onehot = batch["actions_onehot"].numpy() if actions is None else actions
    for row in range(8):
        b, t = divmod(row, 4)
        state = batch["state"][b, t].numpy()
        if arch == "coma_critic":
            joint = onehot[b, t].reshape(-1)
        else:
            pairs = [np.concatenate([hidden[b, t, a], onehot[b, t, a]]) for a in range(2)]
            joint = sum(_mlp(w, "action_encoding", pair, 2) for pair in pairs)
        np.testing.assert_allclose(
            q[row].item(), _mlp(w, "Q", np.concatenate([state, joint]), layers)[0], rtol=1e-4, atol=1e-5
        )
        np.testing.assert_allclose(v[row].item(), _mlp(w, "V", state, layers)[0], rtol=1e-4, atol=1e-5)


def test_names_of_qtran_weights_are_pymarls():
    encoder = ("action_encoding.0", "action_encoding.2")
    small = _parts("Q.0", "Q.2", "Q.4", "V.0", "V.2", "V.4", *encoder)
    assert set(make_qtran("qtran_paper", "small").state_dict()) == small
    # the encoder is there, unused, in the other architecture too
    assert set(make_qtran("coma_critic", "big").state_dict()) == small | _parts("Q.6", "V.6")


@pytest.mark.parametrize("key", ["qtran_arch", "network_size"])
def test_qtran_settings_that_do_not_exist(key):
    with pytest.raises(ValueError, match=key):
        QTranBase(make_args(**{key: "huge"}))


class _Bare(th.nn.Module):
    """As PyMARL's VDNMixer: its constructor takes nothing, and it looks at its inputs as a view of another shape."""

    def forward(self, agent_qs, states):
        return agent_qs.view(-1, agent_qs.size(-1)).sum(1).view(agent_qs.size(0), -1, 1)


@pytest.mark.parametrize("learner", ["q_learner", "pqn_learner"])
def test_mixers_of_pymarls_form(monkeypatch, learner):
    """They mix as VDN does, in a learner with the same seed."""
    monkeypatch.setitem(REGISTRY._entries, "bare", None)
    REGISTRY["bare"] = _Bare
    sizes = {"batch_size": 2, "buffer_size": 2, "batch_size_run": 2, "runner": "parallel", "envs_per_worker": 2}
    small = {"learner": learner, "t_max": 30, "seed": 3, "test_nepisode": 2, **sizes}
    assert run({**small, "mixer": "bare"}) == run({**small, "mixer": "vdn"})
