"""Linear layers of many tokens: equal to `F.linear`, and by oneDNN only where that is possible and pays."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from modules.entities import token_linear as module
from modules.entities.layout import Entities, Layout
from modules.entities.token_linear import TokenLinear, rows_in_steps, token_linear, tokens_step
from modules.entities.transformer import Block

# 4096 * 24 * 40 multiplications
TOKENS, IN, OUT = 4096, 24, 40
needs_onednn = pytest.mark.skipif(module._OPERATOR is None, reason="this torch is without oneDNN's operator")


def _tensors(tokens=TOKENS, into=IN, out=OUT):
    generator = th.Generator().manual_seed(1)
    shapes = (tokens, into), (out, into), (out,)
    return [th.randn(shape, generator=generator, requires_grad=True) for shape in shapes]


def _by_onednn(y):
    return type(y.grad_fn).__name__ == "_ProductBackward"


@needs_onednn
@pytest.mark.parametrize(("into", "out"), [(24, 40), (40, 24), (32, 32), (33, 50)])
@pytest.mark.parametrize("contiguous", [True, False])
def test_values_and_gradients_are_those_of_linear(into, out, contiguous):
    x, weight, bias = _tensors(into=into, out=out)
    weights = th.randn(TOKENS, out)
    if not contiguous:
        x = x.detach().t().contiguous().t().requires_grad_()
        weights = weights[:1].expand(TOKENS, out)
    exact = [tensor.detach().double().requires_grad_() for tensor in (x, weight, bias)]
    y, expected = token_linear(x, weight, bias), F.linear(*exact)
    assert _by_onednn(y)
    found = th.autograd.grad((y * weights).sum(), (x, weight, bias))
    of_linear = th.autograd.grad((expected * weights).sum(), exact)
    assert (y - expected).abs().max() < 1e-4
    for gradient, right in zip(found, of_linear, strict=True):
        assert gradient.shape == right.shape
        assert (gradient - right).norm() < 1e-6 * right.norm()


@needs_onednn
def test_rows_of_tokens_and_layers_without_some_gradients():
    x, weight, bias = _tensors()
    flat = token_linear(x, weight, bias)
    rows = token_linear(x.view(64, 64, IN), weight, bias)
    assert _by_onednn(rows)
    assert th.equal(rows.view(TOKENS, OUT), flat)
    (of_bias,) = th.autograd.grad(token_linear(x.detach(), weight.detach(), bias).sum(), bias)
    assert of_bias.tolist() == [TOKENS] * OUT
    layer = TokenLinear(IN, OUT)
    layer.requires_grad_(False)
    (of_x,) = th.autograd.grad(layer(x).sum(), x)
    assert th.allclose(of_x, layer.weight.sum(0).expand_as(x), atol=1e-5)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        (gradient,) = th.autograd.grad(flat.square().sum(), x, create_graph=True)
        gradient.sum().backward()


def test_the_rest_is_linear(monkeypatch):
    x, weight, bias = _tensors()
    assert not _by_onednn(token_linear(x[:-1], weight, bias))  # a number of tokens that hardly occurs again
    assert not _by_onednn(token_linear(x[:1024], weight, bias))  # too little to do
    double = [tensor.double() for tensor in (x, weight, bias)]
    assert token_linear(*double).dtype == th.float64
    with th.autocast("cpu", dtype=th.bfloat16):
        assert token_linear(x, weight, bias).dtype == th.bfloat16
    elsewhere = token_linear(x.to("meta"), weight.to("meta"), bias.to("meta"))
    assert elsewhere.shape == (TOKENS, OUT)
    assert not _by_onednn(elsewhere)
    with monkeypatch.context() as patch:
        patch.setattr(th.backends.mkldnn, "enabled", False)
        assert not _by_onednn(token_linear(x, weight, bias))
    monkeypatch.setattr(module, "_OPERATOR", None)
    assert not _by_onednn(token_linear(x, weight, bias))


def test_a_layer_has_the_parameters_of_torchs_own():
    layer, own = TokenLinear(3, 2), th.nn.Linear(3, 2)
    own.load_state_dict(copy.deepcopy(layer.state_dict()))
    x = th.randn(5, 3)
    assert th.equal(layer(x), own(x))


@needs_onednn
@pytest.mark.parametrize("pooling", [None, "mean"])
def test_all_layers_of_a_block_are_onednns_and_learn_the_same(monkeypatch, pooling):
    th.manual_seed(1)
    options = SimpleNamespace(d_model=32, n_head=2, attn_pdrop=0.0, resid_pdrop=0.0, pooling=pooling)
    block, x = Block(options), th.randn(TOKENS, 32, requires_grad=True)
    layout = Layout(Entities.of(np.full((1, 256), 16)))
    asked = []

    def operator(*arguments):
        asked.append(arguments)
        return own(*arguments)

    def learned():
        loss = (block(x, layout) ** 2).mean()
        return [loss, *th.autograd.grad(loss, (x, *block.parameters()))]

    own = module._OPERATOR
    monkeypatch.setattr(module, "_OPERATOR", operator)
    found = learned()
    assert len(asked) == 4 * 3  # forward, and the gradients of inputs and of weights
    monkeypatch.setattr(module, "_OPERATOR", None)
    for value, expected in zip(found, learned(), strict=True):
        assert th.allclose(value, expected, rtol=1e-4, atol=1e-8)


@given(st.integers(1, 20_000), st.sampled_from([16, 32, 48, 64, 80]))
def test_few_numbers_of_places_occur(rows, width):
    found = rows_in_steps(rows, width)
    assert found >= rows
    places = found * width
    assert places % tokens_step(places) == 0
    step = tokens_step(places)
    assert step == 16 or 64 <= places // step < 128
    assert places - rows * width < step * width // 16
