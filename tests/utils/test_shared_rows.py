"""Networks whose rows are shared give the outputs and gradients of one process; two threads are the processes here."""

import threading

import pytest
import torch as th
import torch.nn as nn

from helpers import make_args
from modules.agents import REGISTRY as agents
from modules.unshared import unshare
from utils.processes.launched_ranks import launched_ranks, see_own_card_first
from utils.tensors.ranks import Ranks
from utils.tensors.shared_rows import (
    average_gradients,
    averaged,
    is_sharing,
    shared,
    shared_network,
    shared_sequences,
    shared_slices,
    sharing,
    updating,
)

N = 3


class ThreadRanks(Ranks):
    """Exchanges between threads."""

    def __init__(self, rank, size, meeting, table, rows):
        super().__init__(rank, size)
        self._meeting, self._table, self._rows = meeting, table, rows

    def _all(self, value):
        self._table[self.rank] = value
        self._meeting.wait()
        found = list(self._table)
        self._meeting.wait()
        return found

    def gathered(self, own, sizes):
        self._rows.append(len(own))
        return th.cat(self._all(own))

    def average_(self, tensors):
        tensors = list(tensors)
        for parts in zip(tensors, *self._all([x.clone() for x in tensors]), strict=True):
            parts[0].copy_(sum(parts[1:]) / self.size)


def together(compute, size=2):
    """What `compute(rank)` returns in each of the threads that share, and how many rows each gathered."""
    meeting, table, found, rows = threading.Barrier(size, timeout=60), [None] * size, [None] * size, []
    rows = [[] for _ in range(size)]

    def run(rank):
        th.set_num_threads(1)
        try:
            with updating(ThreadRanks(rank, size, meeting, table, rows[rank])), sharing():
                found[rank] = compute(rank)
        except BaseException:
            meeting.abort()
            raise

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found, rows


def weigh(outputs):
    return sum((x * th.linspace(-1, 1, x.numel()).view_as(x)).sum() for x in outputs if x.requires_grad)


def require_same(make, compute, rows, size=2):
    """Outputs and gradients of a network, `make()`, alone and shared; `rows` that each of the processes had first."""

    # made before there are threads, which have one generator
    networks = [make() for _ in range(size)]

    def outcome(rank):
        network = networks[rank]
        outputs = compute(network)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        weigh(outputs).backward()
        average_gradients(network.parameters())
        return [*outputs, *(p.grad for p in network.parameters() if p.grad is not None)]

    found, gathered = together(outcome, size)
    networks = [make()]
    alone = outcome(0)
    assert [each[0] for each in gathered] == rows
    for other in found:
        assert len(alone) == len(other) > 1
        for one, two in zip(alone, other, strict=True):
            th.testing.assert_close(one, two)


def linear():
    th.manual_seed(2)
    return nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))


@pytest.mark.parametrize(("size", "rows"), [(2, [3, 2]), (3, [2, 2, 1])])
def test_rows_are_as_even_as_possible(size, rows):
    x = th.randn(5, 4)
    require_same(linear, lambda network: shared_network(network, x), rows, size)


def test_gradients_by_inputs_are_those_of_all_rows():
    """A network below another one, of which each process computes other rows, and a weight that is used by all."""
    x = th.randn(5, 4)

    def make():
        return nn.ModuleDict({"below": linear(), "above": nn.Linear(5, 1), "whole": nn.Linear(4, 2)})

    def compute(networks):
        below = shared_network(networks["below"], x) + networks["whole"](x)
        return shared_network(networks["above"], below.T.contiguous())

    require_same(make, compute, [3, 2])


def test_one_row_is_shared_along_the_second_axis():
    x = th.randn(1, 5, 4)
    require_same(linear, lambda network: shared_network(network, x), [3, 2])


def test_slices_of_something_that_is_no_tensor():
    x = th.randn(5, 4)
    require_same(linear, lambda network: shared_slices(lambda rows: network(x[rows]), 5, network), [3, 2])


@pytest.mark.parametrize("name", ["ff", "rnn", "lstm"])
@pytest.mark.parametrize("apart", [False, True])
def test_sequences_of_agents(name, apart):
    """Of two to five episodes that end at different steps; those of one episode's agents stay together."""
    sizes = [5 * N, 5 * N, 3 * N, N]
    encoded = th.randn(sum(sizes), 64)

    def make():
        th.manual_seed(3)
        agent = agents[name](4, make_args(agent=name))
        if apart:
            unshare(agent, N, "agents")
        for weight in agent.parameters():
            nn.init.normal_(weight, std=0.3)
        return agent

    def compute(agent):
        hidden = agent.init_hidden()
        hidden = {key: x.expand(5, N, -1) for key, x in hidden.items()} if isinstance(hidden, dict) else hidden
        if isinstance(hidden, tuple):
            hidden = tuple(x.expand(5, N, -1) for x in hidden)
        elif isinstance(hidden, th.Tensor):
            hidden = hidden.expand(5, N, -1)
        outputs, memory = shared_sequences(agent.sequence, encoded, sizes, hidden, N)
        memory = list(memory.values()) if isinstance(memory, dict) else memory
        return (outputs, *(memory if isinstance(memory, tuple | list) else (memory,)))

    # three episodes of 4 + 3 + 3 steps, and two of 2 + 2
    require_same(make, compute, [10 * N, 4 * N])


def test_second_derivatives():
    """Of a loss that is not linear in the outputs, as the Fisher product of TRPO asks for."""
    x = th.randn(5, 4)

    networks = [linear() for _ in range(3)]

    def product(rank):
        network = networks[rank]
        weights = list(network.parameters())
        loss = shared_network(network, x).square().sum().sqrt()
        slope = averaged(th.cat([g.flatten() for g in th.autograd.grad(loss, weights, create_graph=True)]))
        found = th.autograd.grad(slope @ th.linspace(0, 1, len(slope)), weights)
        return averaged(th.cat([g.flatten() for g in found]))

    alone, (found, _) = product(2), together(product)
    for other in found:
        th.testing.assert_close(alone, other)


class Drawing(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return nn.functional.dropout(self.layer(x), 0.5)


@pytest.mark.parametrize("network", [Drawing(), nn.Sequential(nn.BatchNorm1d(4))])
def test_networks_whose_rows_are_not_independent_are_computed_whole(network):
    """Each with the random numbers of a single process: the generator is shared by threads, so it is one here."""
    x = th.randn(4, 4)
    (found,), rows = together(lambda _: [shared_network(network, x), shared_network(network, x)], size=1)
    th.manual_seed(0)
    (found,), rows = together(lambda _: shared_network(network, x), size=1)
    th.manual_seed(0)
    th.testing.assert_close(found, network(x))
    assert rows == [[]]


def test_what_is_not_shared():
    network = nn.Linear(3, 2)
    with sharing():
        assert not is_sharing()  # no processes
        x = th.randn(5, 3)
        assert th.equal(shared_network(network, x), network(x))
        assert th.equal(shared_slices(lambda rows: network(x[rows]), 5, network), network(x))

    def inside(rank):
        assert is_sharing()
        few = shared(network, th.ones(1, 3))
        return few.shape, shared_network(lambda x: x, "rows")

    found, rows = together(inside)
    assert found == [((1, 2), "rows")] * 2 and rows == [[], []]
    gradient = th.ones(2)
    assert averaged(gradient) is gradient


def test_who_was_launched_together(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        assert launched_ranks() is None
        monkeypatch.setenv(name, {"RANK": "1", "WORLD_SIZE": "3"}.get(name, "7"))
    assert launched_ranks() == (1, 3)
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert launched_ranks() is None


@pytest.mark.parametrize(
    ("listed", "place", "first", "seen"),
    [
        (None, 1, 0, "1,0,2"),
        ("4,5,6", 2, 0, "6,5,4"),
        ("4,5,6", 0, 1, "4,5,6"),
        ("4,5,6", 1, 1, "5,4,6"),  # the run is on card 1, so its second process takes card 0
        ("4,5,6", 4, 0, "5,4,6"),
        ("7", 3, 0, "7"),
    ],
)
def test_a_process_sees_its_own_card_by_the_name_of_the_first_ones(listed, place, first, seen, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if listed:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", listed)
    see_own_card_first(place, first, 3)
    import os

    assert os.environ["CUDA_VISIBLE_DEVICES"] == seen
