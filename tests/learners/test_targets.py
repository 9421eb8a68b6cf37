"""Target networks: when they follow, how far, and under PyMARL's names."""

from types import SimpleNamespace

import pytest
import torch as th
import torch.nn as nn

from controllers.basic_controller import BasicMAC
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners import REGISTRY
from learners.base import BaseLearner
from learners.optimiser_steps import clip_gradients
from learners.q_learner import QLearner
from learners.targets import TargetNetworks


class Network(nn.Module):
    """A weight and a running figure."""

    def __init__(self, weight, seen):
        super().__init__()
        self.weight = nn.Parameter(th.tensor([weight]))
        self.register_buffer("seen", th.tensor(seen))


class Controller:
    def __init__(self, *figures):
        self.agent = Network(*figures)

    def parameters(self):
        return self.agent.parameters()

    def load_state(self, other):
        self.agent.load_state_dict(other.agent.state_dict())


def pairs_of(kind):
    """A pair, and the figures of its target."""
    source, target = kind(1.0, 5), kind(3.0, 7)
    network = target if isinstance(target, nn.Module) else target.agent
    return [(source, target)], lambda: (network.weight.item(), network.seen.item())


@pytest.mark.parametrize("kind", [Network, Controller])
def test_polyak_by_hand(kind):
    """0.25 of the way from 3 to 1 is 2.5, and from there 2.125; what was only seen is as the network has it."""
    pairs, figures = pairs_of(kind)
    targets = TargetNetworks(lambda: pairs)
    targets.polyak(0.25)
    assert figures() == (2.5, 5)
    targets.polyak(0.25)
    assert figures() == (2.125, 5)
    assert not any(p.grad_fn for _, target in pairs for p in target.parameters())


@pytest.mark.parametrize("kind", [Network, Controller])
def test_a_hard_copy_is_a_copy(kind):
    pairs, figures = pairs_of(kind)
    TargetNetworks(lambda: pairs).copy()
    assert figures() == (1, 5)
    with th.no_grad():
        next(iter(pairs[0][0].parameters())).fill_(9)
    assert figures() == (1, 5)


def test_when_copies_are_due():
    """Every 10: counts may jump, and the next interval starts with the count at which one was due."""
    targets = TargetNetworks(list)
    assert [count for count in (0, 4, 9, 10, 19, 20, 33, 42, 43) if targets.due(10, count)] == [10, 20, 33, 43]
    resumed = TargetNetworks(list)
    resumed.load_state_dict(targets.state_dict())
    assert [count for count in (43, 52, 53) if resumed.due(10, count)] == [53]


def learner_of(kind, **changes):
    batch = random_batch([3, 5], 6)
    args = make_args(rnn_hidden_dim=8, mixing_embed_dim=4, target_update_interval=10, **changes)
    mac = BasicMAC(batch.scheme, batch.groups, args)
    learner = kind(mac, batch.scheme, RecordingLogger(), args)
    fill([p for network in learner.networks.values() for p in network.parameters()])
    return learner, batch


class SoftLearner(QLearner):
    """As third parties change the update of targets."""

    def _update_targets(self):
        self.targets.polyak(0.5)


def test_an_update_of_targets_that_a_subclass_changes_is_used():
    learner, batch = learner_of(SoftLearner, mixer="qmix")
    before = learner.target_mixer.hyper_b_1.bias.detach().clone()
    learner.train(batch, 10, 10)
    middle = (before + learner.mixer.hyper_b_1.bias.detach()) / 2
    assert not th.equal(before, middle)
    th.testing.assert_close(learner.target_mixer.hyper_b_1.bias.detach(), middle)


@pytest.mark.parametrize(("clip", "expected"), [(None, 2.0), (0.5, 0.5), (100.0, 6.0)])
def test_a_step_follows_the_parameters_of_its_optimiser_up_to_its_own_norm(clip, expected):
    """The loss falls by 6 a unit; a parameter of another optimiser is neither moved nor counted."""
    own, other = nn.Parameter(th.tensor([1.0])), nn.Parameter(th.tensor([1.0]))
    optimiser = th.optim.SGD([own], lr=1.0)
    learner = BaseLearner(SimpleNamespace(), {}, RecordingLogger(), make_args(grad_norm_clip=2.0))
    norm = learner._step(optimiser, (6 * own + 8 * other).sum(), clip)
    assert norm == 6
    assert own.item() == pytest.approx(1 - expected)
    assert other.item() == 1


@pytest.mark.parametrize(
    ("interval", "every", "copied"), [(None, 1, [2, 4]), (2, 1, [2, 4, 6]), (3, 1, [3, 6]), (2, 3, [6])]
)
def test_copies_by_updates_or_by_the_count_given(interval, every, copied):
    """Counts 5, 10, 11, ... with an interval of 10, or every so many updates whatever the counts are."""
    learner, batch = learner_of(
        QLearner, mixer="qmix", target_update_interval_or_tau=interval, target_update_every=every
    )
    found = []
    for update, count in enumerate((5, 10, 11, 20, 21, 22), 1):
        learner.train(batch, count, count)
        found += [update] * th.equal(learner.target_mixer.hyper_b_1.bias, learner.mixer.hyper_b_1.bias)
    assert found == copied


def test_every_learner_with_soft_targets_can_move_them_less_often():
    # other tests' plugins declare nothing, or no options
    options = [set(REGISTRY.entry(name).options or ()) for name in REGISTRY if REGISTRY.entry(name).declared]
    assert any("target_update_every" in each for each in options)
    assert all("target_update_every" in each for each in options if "target_update_interval_or_tau" in each)


@pytest.mark.parametrize(("every", "moves"), [(1, [True] * 6), (3, [False, False, True] * 2)])
def test_a_share_moves_all_targets_after_every_third_update(every, moves):
    learner, batch = learner_of(QLearner, mixer="qmix", target_update_interval_or_tau=0.25, target_update_every=every)
    pairs = (learner.target_mixer, learner.mixer), (learner.target_mac, learner.mac)
    of = lambda i: [p.detach().clone() for pair in pairs for p in pair[i].parameters()]  # noqa: E731
    for count, moved in enumerate(moves, 1):
        before = of(0)
        learner.train(batch, count, 1000 * count)
        th.testing.assert_close(
            of(0), [0.75 * old + 0.25 * new for old, new in zip(before, of(1), strict=True)] if moved else before
        )


def test_updates_are_counted_over_a_resumption():
    learner, batch = learner_of(QLearner, target_update_interval_or_tau=3)
    learner.train(batch, 10, 1)
    state = learner.targets.state_dict()
    assert state == {"last_update": 0, "updates": 1}
    resumed, _ = learner_of(QLearner, target_update_interval_or_tau=3)
    resumed.targets.load_state_dict(state)
    resumed.train(batch, 10, 1)
    assert resumed.targets.last_update == 0
    resumed.train(batch, 10, 1)
    assert resumed.targets.last_update == 3


@pytest.mark.parametrize("types", [[th.float32] * 3, [th.float32, th.float64, th.float32], []])
@pytest.mark.parametrize("share", [0.1, 0.9, 0.9995, 1.0, 1.5])
def test_gradients_are_clipped_as_torch_clips_them_to_the_bit(types, share):
    ours, torchs = ([nn.Parameter(th.zeros(5, 3, dtype=dtype)) for dtype in types] for _ in range(2))
    for one, other in zip(ours, torchs, strict=True):
        one.grad = th.randn_like(one)
        other.grad = one.grad.clone()
    most = share * float(nn.utils.get_total_norm([one.grad for one in ours]))
    assert th.equal(clip_gradients(ours, most), nn.utils.clip_grad_norm_(torchs, most))
    assert all(th.equal(one.grad, other.grad) for one, other in zip(ours, torchs, strict=True))
