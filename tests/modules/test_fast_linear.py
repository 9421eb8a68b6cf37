"""Linear layers by any way: equal to `F.linear`, and by oneDNN only where that is possible and pays."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from modules import fast_linear as module
from modules.entities.layout import Entities, Layout
from modules.entities.transformer import Block
from modules.fast_linear import (
    FastLinear,
    fast_linear,
    linear_into,
    rows_in_steps,
    rows_step,
    stacked_linear,
    sum_of_products,
)

# 4096 * 24 * 40 multiplications
TOKENS, IN, OUT = 4096, 24, 40
needs_onednn = pytest.mark.skipif(module._OPERATOR is None, reason="this torch is without oneDNN's operator")


@pytest.fixture(autouse=True)
def faster(monkeypatch):
    """As on a processor on which oneDNN is."""
    monkeypatch.setattr(module, "_FASTER", True)


def _tensors(tokens=TOKENS, into=IN, out=OUT):
    generator = th.Generator().manual_seed(1)
    shapes = (tokens, into), (out, into), (out,)
    return [th.randn(shape, generator=generator, requires_grad=True) for shape in shapes]


def _by_onednn(y):
    return type(y.grad_fn).__name__ in ("_LayerBackward", "_StackBackward")


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
    y, expected = fast_linear(x, weight, bias), F.linear(*exact)
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
    flat = fast_linear(x, weight, bias)
    rows = fast_linear(x.view(64, 64, IN), weight, bias)
    assert _by_onednn(rows)
    assert th.equal(rows.view(TOKENS, OUT), flat)
    (of_bias,) = th.autograd.grad(fast_linear(x.detach(), weight.detach(), bias).sum(), bias)
    assert of_bias.tolist() == [TOKENS] * OUT
    layer = FastLinear(IN, OUT)
    layer.requires_grad_(False)
    (of_x,) = th.autograd.grad(layer(x).sum(), x)
    assert th.allclose(of_x, layer.weight.sum(0).expand_as(x), atol=1e-5)


def _layers(number, rows, into, out, stored_as_linear=False):
    """`stacked_linear`'s arguments, with or without weights that lie in memory as `nn.Linear`'s."""
    generator = th.Generator().manual_seed(number + out)
    draw = lambda *shape: th.randn(shape, generator=generator)  # noqa: E731
    weight = draw(number, out, into).mT if stored_as_linear else draw(number, into, out)
    return [x.requires_grad_() for x in (draw(number, rows, into), weight, draw(number, 1, out))]


@pytest.mark.parametrize("stored_as_linear", [False, True])
@pytest.mark.parametrize(
    ("number", "rows", "into", "out"),
    [
        (1, 100, 8, 1),
        (2, 100, 8, 1),
        (2, 100, 8, 5),
        (3, 128, 8, 16),
        (3, 8, 4, 5),
        (2, 256, 128, 64),
        (9, 256, 128, 64),
    ],
)
@pytest.mark.parametrize("biased", [False, True])
def test_layers_of_a_stack_are_those_of_linear(number, rows, into, out, stored_as_linear, biased):
    tensors = _layers(number, rows, into, out, stored_as_linear)[: 2 + biased]
    exact = [tensor.detach().double().requires_grad_() for tensor in tensors]
    y = stacked_linear(*tensors)
    expected = th.stack([x @ weight for x, weight in zip(*exact[:2], strict=True)]) + (exact[2] if biased else 0)
    assert _by_onednn(y) == (module._OPERATOR is not None and 2 <= number <= module.FEW_LAYERS and out == 64)
    assert y.shape == expected.shape and (y - expected).abs().max() < 1e-4
    weights = th.randn(number, rows, out)
    found = th.autograd.grad((y * weights).sum(), tensors)
    for gradient, right in zip(found, th.autograd.grad((expected * weights).sum(), exact), strict=True):
        assert gradient.shape == right.shape
        assert (gradient - right).norm() < 1e-5 * (1 + right.norm())


@needs_onednn
def test_onednn_gets_no_matrix_with_gaps(monkeypatch):
    """Where the columns of wider weights are used, it takes a thousand times as long."""
    given, own = [], module._OPERATOR
    monkeypatch.setattr(module, "_OPERATOR", lambda *all_: given.extend(all_[:2]) or own(*all_))
    x, weight, bias = _tensors(into=2 * IN)
    y = fast_linear(x[:, IN:], weight[:, IN:], bias)
    th.autograd.grad(y, (x, weight, bias), th.ones(TOKENS, 2 * OUT)[:, OUT:])
    assert len(given) == 6
    assert all(matrix.is_contiguous() or matrix.t().is_contiguous() for matrix in given)


@pytest.mark.parametrize("rows", [TOKENS, 100])
def test_products_into_memory(rows):
    """As of the cells of recurrent networks."""
    x, weight, bias = (tensor.detach() for tensor in _tensors(rows))
    for added in (bias, None):
        out = th.empty(rows, 2 * OUT)[:, :OUT]
        linear_into(out, x, weight, added)
        assert th.allclose(out, F.linear(x, weight, added), atol=1e-4)
    with th.no_grad():
        assert th.allclose(sum_of_products(x, out), x.t() @ out, atol=1e-2)


@needs_onednn
@pytest.mark.parametrize("stacked", [False, True])
def test_gradients_have_gradients(stacked):
    """As trust regions need them."""
    tensors = _layers(2, 256, 128, 64) if stacked else _tensors()
    exact = [tensor.detach().double().requires_grad_() for tensor in tensors]
    found = []
    for now in (tensors, exact):
        if stacked:
            y = stacked_linear(*now) if now is tensors else th.baddbmm(now[2], *now[:2])
        else:
            y = fast_linear(*now) if now is tensors else F.linear(*now)
        slopes = th.autograd.grad(y.tanh().sum(), now, create_graph=True)
        found.append(th.autograd.grad(sum(slope.square().sum() for slope in slopes), now))
    assert all((a - b).norm() < 1e-5 * b.norm() for a, b in zip(*found, strict=True))


@needs_onednn
@pytest.mark.filterwarnings("ignore:.*jit.trace.*:DeprecationWarning")
def test_an_exported_layer_is_torchs_own():
    x, *_ = _tensors()
    layer = FastLinear(IN, OUT).requires_grad_(False)
    traced = th.jit.trace(layer, x.detach())
    assert "aten::linear" in str(traced.inlined_graph)


def test_the_rest_is_linear(monkeypatch):
    x, weight, bias = _tensors()
    assert not _by_onednn(fast_linear(x[:-1], weight, bias))  # a number of tokens that hardly occurs again
    assert not _by_onednn(fast_linear(x[:1024], weight, bias))  # too little to do
    double = [tensor.double() for tensor in (x, weight, bias)]
    assert fast_linear(*double).dtype == th.float64
    with th.autocast("cpu", dtype=th.bfloat16):
        assert fast_linear(x, weight, bias).dtype == th.bfloat16
    elsewhere = fast_linear(x.to("meta"), weight.to("meta"), bias.to("meta"))
    assert elsewhere.shape == (TOKENS, OUT)
    assert not _by_onednn(elsewhere)
    with monkeypatch.context() as patch:
        patch.setattr(th.backends.mkldnn, "enabled", False)
        assert not _by_onednn(fast_linear(x, weight, bias))
    for name, value in (("_FASTER", False), ("_OPERATOR", None)):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            assert not _by_onednn(fast_linear(x, weight, bias))


@pytest.mark.parametrize("outputs", [1, 5, 16])
def test_stacks_are_torchs_own_where_these_are_as_fast(monkeypatch, outputs):
    monkeypatch.setattr(module, "_FASTER", False)
    x, weight, bias = th.randn(2, 256, 24), th.randn(2, 24, outputs), th.randn(2, 1, outputs)
    monkeypatch.setattr(th.Tensor, "sum", None)
    assert stacked_linear(x, weight, bias).is_contiguous(), "which no transposed product is"
    assert th.equal(stacked_linear(x, weight, bias), th.baddbmm(bias, x, weight))


def test_a_layer_has_the_parameters_of_torchs_own():
    layer, own = FastLinear(3, 2), th.nn.Linear(3, 2)
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
    assert places % rows_step(places) == 0
    step = rows_step(places)
    assert step == 16 or 64 <= places // step < 128
    assert places - rows * width < step * width // 16
