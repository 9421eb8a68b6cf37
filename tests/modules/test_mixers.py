"""Mixers against NumPy, and what makes them what they are: monotonic, additive, blind to the order of agents."""

import numpy as np
import pytest
import torch as th
from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.basic_controller import BasicMAC
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.q_learner import QLearner
from modules.mixers import (
    REGISTRY,
    DMAQQattenMixer,
    LinearMixer,
    NMixer,
    QattenMixer,
    QMixer,
    QPLEXMixer,
    QTranBase,
    SHAQMixer,
    VDNMixer,
)
from run import run
from utils.errors import ConfigError
from utils.rl_utils import valid_transitions

N, S, E = 3, 4, 6


def make_qmixer(layers, seed=0):
    mixer = QMixer(make_args(n_agents=N, state_shape=S, mixing_embed_dim=E, hypernet_layers=layers, hypernet_embed=5))
    fill(mixer.parameters(), seed=seed, scale=1.0)
    return mixer


def _numpy_weights(module):
    return {name: tensor.detach().numpy() for name, tensor in module.state_dict().items()}


def _linear(w, name, x):
    return x @ w[f"{name}.weight"].T + w.get(f"{name}.bias", 0)


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


def test_the_linear_mixer_weighs_values_by_the_state():
    mixer, rng = LinearMixer(make_args(n_agents=N, state_shape=S, hypernet_embed=5)), np.random.default_rng(0)
    fill(mixer.parameters())
    qs, states = rng.normal(size=(2, 3, N)).astype("f"), rng.normal(size=(2, 3, S)).astype("f")
    w = _numpy_weights(mixer)
    k = np.abs(_mlp(w, "hyper_k", states, 2))
    expected = (k * qs).sum(axis=2, keepdims=True) + _mlp(w, "hyper_b", states, 2)
    np.testing.assert_allclose(mixer(th.from_numpy(qs), th.from_numpy(states)).detach(), expected, rtol=1e-4)
    np.testing.assert_allclose(mixer.k(th.from_numpy(states)).detach(), k, rtol=1e-4)
    assert set(w) == _parts("hyper_k.0", "hyper_k.2", "hyper_b.0", "hyper_b.2")


@pytest.mark.parametrize("layers", [1, 2])
def test_k_of_qmix_is_its_slope_where_elu_is_none(layers):
    mixer, qs = make_qmixer(layers), th.full((2, 3, N), 1e3, requires_grad=True)
    states = th.randn(2, 3, S, generator=th.Generator().manual_seed(0))
    mixer(qs, states).sum().backward()
    assert th.allclose(mixer.k(states), qs.grad, rtol=1e-4)


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


def make_qplex(seed=0, **changes):
    settings = {"hypernet_embed": 5, "num_kernel": 2, "adv_hypernet_layers": 2, "adv_hypernet_embed": 4}
    mixer = QPLEXMixer(make_args(n_agents=N, n_actions=3, **{"state_shape": S, **settings, **changes}))
    fill(mixer.parameters(), seed=seed, scale=1.0)
    return mixer


@pytest.mark.parametrize(
    ("layers", "head", "minus"), [(1, True, 1), (2, True, 1), (3, True, 1), (2, False, 1), (2, True, 0)]
)
def test_qplex_is_the_published_network(layers, head, minus):
    mixer = make_qplex(adv_hypernet_layers=layers, weighted_head=head, is_minus_one=bool(minus))
    rng = np.random.default_rng(0)
    qs, states = rng.normal(size=(2, 3, N)).astype("f"), rng.normal(size=(2, 3, S)).astype("f")
    best, actions = qs + rng.random(size=qs.shape).astype("f"), np.eye(3, dtype="f")[rng.integers(3, size=(2, 3, N))]
    w = _numpy_weights(mixer)
    part = (lambda name, x: _linear(w, name, x)) if layers == 1 else (lambda name, x: _mlp(w, name, x, layers))

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    expected = np.zeros((2, 3, 1))
    for b, t in np.ndindex(2, 3):
        s = states[b, t]
        scale, shift = (abs(_mlp(w, "hyper_w_final", s, 2)), _mlp(w, "V", s, 2)) if head else (1, 0)
        value, advantage = scale * qs[b, t] + shift, scale * (qs[b, t] - best[b, t])
        joint = np.concatenate([s, actions[b, t].reshape(-1)])
        share = sum(
            abs(part(f"si_weight.key_extractors.{k}", s))
            * sigmoid(part(f"si_weight.agents_extractors.{k}", s))
            * sigmoid(part(f"si_weight.action_extractors.{k}", joint))
            for k in range(2)
        )
        expected[b, t] = (value + (share - minus) * advantage).sum()
    q_tot = mixer(*(th.from_numpy(x) for x in (qs, states, actions, best)))
    np.testing.assert_allclose(q_tot.detach().numpy(), expected, rtol=1e-4, atol=1e-5)


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_no_joint_action_is_worth_more_to_qplex_than_that_of_the_agents_best_ones(seed):
    """And what differs among the others is not the sum of the agents' values, as it is with VDN."""
    mixer, rng = make_qplex(seed=seed), np.random.default_rng(seed)
    qs, state = rng.normal(size=(N, 3)).astype("f"), rng.normal(size=S).astype("f")
    joint = np.array([*np.ndindex(3, 3, 3)])
    chosen = th.from_numpy(np.take_along_axis(qs, joint.T, 1).T.copy()).unsqueeze(0)
    greedy = th.from_numpy(qs.max(1)).expand(1, 27, N)
    states, actions = th.from_numpy(state).expand(1, 27, S), th.from_numpy(np.eye(3, dtype="f")[joint]).unsqueeze(0)
    values = mixer(chosen, states, actions, greedy).flatten()
    best = joint[values.argmax()]
    assert list(best) == list(qs.argmax(1))


def test_only_the_weights_learn_from_qplexs_advantages():
    mixer = make_qplex()
    qs = th.ones(1, 1, N, requires_grad=True)
    greedy = th.full((1, 1, N), 2.0, requires_grad=True)
    mixer(qs, th.ones(1, 1, S), th.ones(1, 1, N, 3), greedy).sum().backward()
    weights = mixer.hyper_w_final(th.ones(1, S)).abs().flatten()
    assert qs.grad.flatten().tolist() == pytest.approx(weights.tolist(), rel=1e-5)
    assert greedy.grad is None
    assert all(any(p.grad.abs().sum() > 0 for p in part.parameters()) for part in mixer.si_weight.children())


@pytest.mark.parametrize("kind", ["abs", "softplus", "quadratic"])
def test_nmix_is_qmix_with_other_names_and_signs(kind):
    args = make_args(n_agents=N, state_shape=S, mixing_embed_dim=E, hypernet_embed=5, qmix_pos_func=kind)
    args.qmix_pos_func_beta = 2.0
    mixer, rng = NMixer(args), np.random.default_rng(0)
    fill(mixer.parameters(), scale=1.0)
    qs, states = rng.normal(size=(2, 3, N)).astype("f"), rng.normal(size=(2, 3, S)).astype("f")
    w = _numpy_weights(mixer)
    positive = {"abs": np.abs, "softplus": lambda x: np.log1p(np.exp(2 * x)) / 2, "quadratic": lambda x: x**2 / 2}[kind]
    expected = np.zeros((2, 3, 1))
    for b, t in np.ndindex(2, 3):
        s = states[b, t]
        hidden = qs[b, t] @ positive(_mlp(w, "hyper_w1", s, 2)).reshape(N, E) + _linear(w, "hyper_b1.0", s)
        hidden = np.where(hidden > 0, hidden, np.exp(hidden) - 1)
        expected[b, t] = hidden @ positive(_mlp(w, "hyper_w2", s, 2)) + _mlp(w, "hyper_b2", s, 2)
    q_tot = mixer(th.from_numpy(qs), th.from_numpy(states))
    np.testing.assert_allclose(q_tot.detach().numpy(), expected, rtol=1e-4, atol=1e-5)


def make_qatten(**changes):
    widths = {"n_query_embedding_layer1": 5, "n_query_embedding_layer2": 4, "n_head_embedding_layer1": 5}
    settings = {**widths, "n_constrant_value": 6, "n_attention_head": 2, "obs_shape": 2, "state_shape": 7}
    mixer = QattenMixer(make_args(n_agents=N, **{**settings, **changes}))
    fill(mixer.parameters(), scale=1.0)
    return mixer


@pytest.mark.parametrize("own", [0, 2])
@pytest.mark.parametrize("weighted", [True, False])
def test_qatten_is_the_published_network(own, weighted):
    mixer, rng = make_qatten(agent_own_state_size=own, weighted_heads=weighted), np.random.default_rng(0)
    qs, states = rng.normal(size=(2, 3, N)).astype("f"), rng.normal(size=(2, 3, 7)).astype("f")
    obs = rng.normal(size=(2, 3, N, 2)).astype("f")
    w = _numpy_weights(mixer)
    expected = np.zeros((2, 3, 1))
    for b, t in np.ndindex(2, 3):
        s = states[b, t]
        known = s[: 2 * N].reshape(N, 2) if own else obs[b, t]
        head = np.abs(_mlp(w, "head_embedding_layer", s, 2)) if weighted else np.ones(2)
        expected[b, t] = _mlp(w, "constrant_value_layer", s, 2)
        for h in range(2):
            query = _mlp(w, f"query_embedding_layers.{h}", s, 2)
            scores = np.exp([_linear(w, f"key_embedding_layers.{h}", x) @ query / 2 for x in known])
            expected[b, t] += head[h] * (scores / scores.sum()) @ qs[b, t]
    q_tot = mixer(*(th.from_numpy(x) for x in (qs, states, obs)))
    np.testing.assert_allclose(q_tot.detach().numpy(), expected, rtol=1e-4, atol=1e-5)


def make_dmaq_qatten(**changes):
    settings = {"hypernet_embed": 5, "num_kernel": 2, "adv_hypernet_layers": 1, "mixing_embed_dim": 4, "obs_shape": 2}
    settings |= {"n_attention_head": 2, "n_actions": 3, "attend_reg_coef": 0.5, "state_shape": 7}
    mixer = DMAQQattenMixer(make_args(n_agents=N, **{**settings, **changes}))
    fill(mixer.parameters(), scale=1.0)
    return mixer


@pytest.mark.parametrize(("own", "weighted"), [(0, False), (2, True)])
def test_dmaq_qatten_is_qplex_with_attention_for_a_scale(own, weighted):
    mixer, rng = make_dmaq_qatten(agent_own_state_size=own, weighted_heads=weighted), np.random.default_rng(0)
    qs, states = rng.normal(size=(2, 3, N)).astype("f"), rng.normal(size=(2, 3, 7)).astype("f")
    best, actions = qs + rng.random(size=qs.shape).astype("f"), np.eye(3, dtype="f")[rng.integers(3, size=(2, 3, N))]
    obs, w = rng.normal(size=(2, 3, N, 2)).astype("f"), _numpy_weights(mixer)
    scales, penalties = np.zeros((2, 3, N)), np.zeros((2, 3, 1))
    for b, t in np.ndindex(2, 3):
        s = states[b, t]
        known = s[: 2 * N].reshape(N, 2) if own else obs[b, t]
        head = np.abs(_mlp(w, "attention_weight.hyper_w_head", s, 2)) if weighted else np.ones(2)
        for h in range(2):
            query = _mlp(w, f"attention_weight.selector_extractors.{h}", s, 2)
            logits = np.array([_linear(w, f"attention_weight.key_extractors.{h}", x) @ query for x in known])
            scores = np.exp(logits / 2)
            scales[b, t] += head[h] * scores / scores.sum()
            penalties[b, t] += 0.5 * (logits**2).mean()
    shifts = np.stack([[_mlp(w, "attention_weight.V", s, 2) / N for s in row] for row in states])
    plain = make_qplex(adv_hypernet_layers=1, weighted_head=False, state_shape=7)
    plain.si_weight.load_state_dict(mixer.si_weight.state_dict())
    scaled = (th.from_numpy((scales * x + shifts).astype("f")) for x in (qs, best))
    tensors = [th.from_numpy(x) for x in (qs, states, actions, best, obs)]
    expected = plain(next(scaled), tensors[1], tensors[2], next(scaled))
    th.testing.assert_close(mixer(*tensors), expected, rtol=1e-4, atol=1e-5)
    found = mixer.regulariser(tensors[1], tensors[4]).detach().numpy()
    np.testing.assert_allclose(found, penalties, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("padding", [False, True])
def test_q_learners_add_what_a_mixer_has_to_add(padding):
    """The mean over transitions that were really taken, or over all."""
    batch = random_batch([2, 4], 5)
    settings = {"mixer": "dmaq_qatten", "attend_padding": padding, "agent_own_state_size": 0, "learner_log_interval": 1}
    losses = []
    for coef in (0.0, 0.5):
        args = make_args(**settings, attend_reg_coef=coef)
        learner = QLearner(BasicMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
        fill([*learner.mac.parameters(), *learner.mixer.parameters()])
        learner._update_targets()
        penalties = learner.mixer.regulariser(batch["state"][:, :-1], batch["obs"][:, :-1]).detach()
        learner.train(batch, 0, 0)
        losses.append(learner.logger.last()["loss"])
    mask = th.ones_like(penalties) if padding else valid_transitions(batch)
    expected = float((penalties * mask).sum() / mask.sum())
    assert expected > 0.01 and losses[1] - losses[0] == pytest.approx(expected, rel=1e-3)


def test_qattens_agents_need_a_share_of_the_state():
    with pytest.raises(ConfigError, match=r"agent_own_state_size=3: the state has 7 numbers, 2 for each of 3 agents"):
        make_qatten(agent_own_state_size=3)


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


def make_shaq(seed=0, samples=2):
    changes = {"mixing_embed_dim": E, "hypernet_embed": 5, "shaq_samples": samples}
    mixer = SHAQMixer(make_args(n_agents=N, state_shape=S, **changes))
    fill(mixer.parameters(), seed=seed, scale=1.0)
    return mixer


def test_shaq_weighs_what_is_not_greedy_by_coalitions_in_random_orders():
    """Equations 8 and 9, agent by agent and order by order."""
    mixer, rng = make_shaq(), np.random.default_rng(0)
    qs, states = rng.normal(size=(2, 3, N)).astype("f"), rng.normal(size=(2, 3, S)).astype("f")
    greedy = qs + (rng.random(qs.shape) < 0.6).astype("f")
    assert (greedy > qs).any() and (greedy == qs).any()
    w = _numpy_weights(mixer)
    np.random.seed(3)
    places = np.random.random((2, N))
    expected = np.zeros((2, 3, 1))
    for b in range(2):
        for t in range(3):
            s, q = states[b, t], qs[b, t]
            w_1, w_2 = np.abs(_mlp(w, "hyper_w_1", s, 2)).reshape(2, E), np.abs(_mlp(w, "hyper_w_2", s, 2))
            for i in range(N):
                found = []
                for order in places:
                    before = [q[j] for j in range(N) if order[j] < order[i]]
                    x = np.array([np.mean(before) if before else 0.0, q[i]]) @ w_1 + _linear(w, "hyper_b_1", s)
                    x = np.where(x > 0, x, np.exp(x) - 1)
                    found.append(abs(x @ w_2 + _mlp(w, "hyper_b_2", s, 2)[0]))
                expected[b, t, 0] += q[i] * (1 if greedy[b, t, i] == q[i] else 1 + np.mean(found))
    np.random.seed(3)
    q_tot = mixer(*map(th.from_numpy, (qs, states, greedy)))
    np.testing.assert_allclose(q_tot.detach().numpy(), expected, rtol=1e-4, atol=1e-5)


def test_shaq_adds_up_greedy_values_and_passes_them_weighed_gradients():
    mixer = make_shaq(samples=1)  # of several, the signs may cancel each other
    qs = th.tensor([[[1.0, -2.0, 4.0]]], requires_grad=True)
    states = th.ones(1, 1, S)
    assert mixer(qs, states, qs.detach()).item() == 3.0
    mixer(qs, states, qs.detach() + th.tensor([1.0, 0.0, 0.0])).sum().backward()
    # what is not greedy counts by more than 1; values within its weight are constants
    assert qs.grad[0, 0, 0] > 1 and qs.grad[0, 0, 1:].tolist() == [1.0, 1.0]
    assert all(
        any(weight.grad.abs().sum() > 0 for weight in network.parameters()) for network in list(mixer.children())
    )
