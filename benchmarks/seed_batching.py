"""Would several seeds in one process pay? QMIX's update for S seeds at once, beside S updates of the learner.

    python benchmarks/seed_batching.py [--shapes 3m 8m] [--seeds 1 2 4 8] [--episodes 32]

`together` is one update with the networks of S seeds stacked: a matrix product for all seeds at once in place of S of
them, as vmap makes it; without packing, logging and all else that a learner does besides. `alone` is the update of our
learner, S times. Both in milliseconds of CPU time a seed, one thread, on episodes that are as long as the columns.
Acting is measured in the same way: S times as many rows for the networks of S seeds, at each step of the simulator.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import torch as th

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from free_shapes import SHAPES
from learner import COLUMNS, make_learner, random_episodes

from controllers.basic_controller import BasicMAC

GAMMA = 0.99


def stacked(learner, seeds: int) -> tuple[dict[str, th.Tensor], dict[str, th.Tensor]]:
    """Parameters `[S, ...]` of agent and mixer, and of their targets; matrices as inputs by outputs."""
    made = {}
    for prefix, network in (("agent", learner.mac.agent), ("mixer", learner.mixer)):
        for name, value in network.named_parameters():
            value = value.detach().t() if value.dim() == 2 else value.detach().unsqueeze(0)
            made[f"{prefix}.{name}"] = value.expand(seeds, *value.shape).clone()
    return {name: value.clone().requires_grad_() for name, value in made.items()}, made


def linear(networks: dict, name: str, x: th.Tensor) -> th.Tensor:
    """`[S, N, in]` -> `[S, N, out]`."""
    return th.baddbmm(networks[f"{name}.bias"], x, networks[f"{name}.weight"])


def cell(networks: dict, gates: th.Tensor, hidden: th.Tensor) -> th.Tensor:
    """torch.nn.GRUCell's next hidden state `[S, N, H]`, from the gates of the inputs `[S, N, 3 H]`."""
    recurrent = th.baddbmm(networks["agent.rnn.bias_hh"], hidden, networks["agent.rnn.weight_hh"])
    width = hidden.shape[-1]
    r, z = th.sigmoid(gates[..., : 2 * width] + recurrent[..., : 2 * width]).chunk(2, -1)
    new = th.tanh(gates[..., 2 * width :] + r * recurrent[..., 2 * width :])
    return new + z * (hidden - new)


def unrolled(networks: dict, inputs: th.Tensor) -> th.Tensor:
    """`[S, T, N, I]` -> values `[S, T, N, A]`."""
    seeds, steps, rows, width = inputs.shape
    x = th.relu(linear(networks, "agent.fc1", inputs.reshape(seeds, steps * rows, width)))
    gates = th.baddbmm(networks["agent.rnn.bias_ih"], x, networks["agent.rnn.weight_ih"]).view(seeds, steps, rows, -1)
    hidden, states = gates.new_zeros(seeds, rows, gates.shape[-1] // 3), []
    for gates_t in gates.unbind(1):
        hidden = cell(networks, gates_t, hidden)
        states.append(hidden)
    values = linear(networks, "agent.fc2", th.stack(states, 1).view(seeds, steps * rows, -1))
    return values.view(seeds, steps, rows, -1)


def mixed(networks: dict, values: th.Tensor, states: th.Tensor) -> th.Tensor:
    """Values `[S, M, n]` and states `[S, M, D]` -> `[S, M]`."""

    def deep(name: str, layers: tuple[str, str]) -> th.Tensor:
        first, second = layers
        return linear(networks, f"mixer.{name}.{second}", th.relu(linear(networks, f"mixer.{name}.{first}", states)))

    names = {name.rsplit(".", 1)[0] for name in networks}

    def hyper(name: str) -> th.Tensor:
        return deep(name, ("0", "2")) if f"mixer.{name}.0" in names else linear(networks, f"mixer.{name}", states)

    first = hyper("hyper_w_1").abs().view(*values.shape, -1)
    hidden = th.nn.functional.elu((values.unsqueeze(-1) * first).sum(2) + linear(networks, "mixer.hyper_b_1", states))
    return (hidden * hyper("hyper_w_final").abs()).sum(-1) + deep("V", ("0", "2")).squeeze(-1)


class Together:
    """The update of S seeds."""

    def __init__(self, learner, batch, inputs: th.Tensor, seeds: int):
        self.networks, self.targets = stacked(learner, seeds)
        self.optimiser = th.optim.RMSprop(self.networks.values(), lr=0.0005, alpha=0.99, eps=1e-5)
        repeat = lambda value: value.unsqueeze(0).expand(seeds, *value.shape).contiguous()  # noqa: E731
        self.inputs = repeat(inputs.transpose(0, 1).flatten(1, 2))
        self.actions = repeat(batch["actions"].transpose(0, 1).flatten(1, 2))
        self.states = repeat(batch["state"].transpose(0, 1))
        self.rewards = repeat(batch["reward"][..., 0].t())
        self.ends = repeat(batch["terminated"][..., 0].t().float())

    def train(self) -> None:
        """One gradient step of double Q-learning."""
        seeds, columns, episodes, width = self.states.shape
        before = self.states[:, :-1].reshape(seeds, -1, width)
        after = self.states[:, 1:].reshape(seeds, -1, width)
        values = unrolled(self.networks, self.inputs)
        chosen = values.gather(-1, self.actions).view(seeds, columns, episodes, -1)
        total = mixed(self.networks, chosen[:, :-1].reshape(seeds, (columns - 1) * episodes, -1), before)
        with th.no_grad():
            best = values.argmax(-1, keepdim=True)
            found = unrolled(self.targets, self.inputs).gather(-1, best).view(seeds, columns, episodes, -1)
            following = mixed(self.targets, found[:, 1:].reshape(seeds, (columns - 1) * episodes, -1), after)
            rewards, ends = self.rewards[:, :-1].flatten(1), self.ends[:, :-1].flatten(1)
            goal = rewards + GAMMA * (1 - ends) * following
        # a mean for each seed: their gradients do not meet
        loss = ((total - goal) ** 2).mean(1).sum()
        self.optimiser.zero_grad()
        loss.backward()
        for parameter in self.networks.values():
            norms = parameter.grad.flatten(1).norm(dim=1).clamp(min=10.0)
            parameter.grad.mul_((10.0 / norms).view(-1, *[1] * (parameter.dim() - 1)))
        self.optimiser.step()


def milliseconds(call, times: int) -> float:
    """The median of a call's CPU time, after a few to warm up."""
    found = []
    for _ in range(times + 3):
        start = time.process_time()
        call()
        found.append(1e3 * (time.process_time() - start))
    return float(np.median(found[3:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=["3m", "8m"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--episodes", type=int, default=32)
    parser.add_argument("--copies", type=int, default=8, help="of the environment, for acting")
    parser.add_argument("--updates", type=int, default=10)
    options = parser.parse_args()
    th.set_num_threads(1)
    print(f"{'shape':<14}{'seeds':>6}{'alone':>9}{'together':>10}{'acting':>9}   ms of CPU time a seed")
    for name in options.shapes:
        batch = random_episodes(SHAPES[name], np.full(options.episodes, COLUMNS - 1), "cpu")
        learner = make_learner("qmix", SHAPES[name], batch, BasicMAC, "cpu", "float32")
        alone = milliseconds(lambda: learner.train(batch, 0, 0), options.updates)  # noqa: B023
        inputs = th.randn(options.episodes, COLUMNS, SHAPES[name][0], learner.mac.agent.fc1.in_features)
        for seeds in options.seeds:
            made = Together(learner, batch, inputs, seeds)
            together = milliseconds(made.train, options.updates) / seeds
            rows = th.randn(seeds, 1, options.copies * SHAPES[name][0], inputs.shape[-1])
            with th.no_grad():
                acting = milliseconds(lambda: [unrolled(made.targets, rows) for _ in range(50)], 5) / 50 / seeds  # noqa: B023
            print(f"{name:<14}{seeds:>6}{alone:>9.1f}{together:>10.1f}{acting:>9.3f}", flush=True)


if __name__ == "__main__":
    main()
