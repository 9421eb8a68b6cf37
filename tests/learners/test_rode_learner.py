"""RODE: clusters, the roles that agents choose and keep, and the losses of actions, roles and effects by loops."""

import copy

import pytest
import torch as th

from components.sampling.fields import batch_with
from controllers.hidden_states import for_all_agents
from controllers.rode_controller import RODEMAC
from controllers.unroll import unroll_mac
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.rode_learner import RODELearner
from modules.action_effects import ActionEffects, clusters
from modules.agents.rode_agent import RODEAgent
from modules.unshared import unshare

N, A, R, C = 3, 3, 2, 2
SETTINGS = {"mac": "rode_mac", "agent": "rode", "learner": "rode_learner", "mixer": "vdn", "role_mixer": "qmix"}
SETTINGS |= {"n_agents": N, "rnn_hidden_dim": 6, "mixing_embed_dim": 4, "action_latent_dim": 4, "n_role_clusters": R}
SETTINGS |= {"role_interval": C, "learner_log_interval": 1, "gamma": 0.9, "td_lambda": 0.0, "grad_norm_clip": 1e9}
SETTINGS |= {"action_selector": "epsilon_greedy", "agent_output_type": "q", "role_spaces_start": 1000}


def with_roles(batch):
    """A random batch of episodes in which each role was kept for two steps."""
    roles = th.randint(R, (batch.batch_size, batch.max_seq_length, N, 1), generator=th.Generator().manual_seed(3))
    roles[:, 1::2] = roles[:, : roles.size(1) // 2 * 2 : 2]
    scheme = {**batch.scheme, "roles": {"vshape": 1, "dtype": th.long, "group": "agents"}}
    return batch_with(batch, {**batch.data.transition_data, "roles": roles}, batch.data.episode_data, scheme)


def make(batch, **changes):
    args = make_args(**{**SETTINGS, **changes})
    mac = RODEMAC(batch.scheme, batch.groups, args)
    learner = RODELearner(mac, batch.scheme, RecordingLogger(), args)
    for seed, part in enumerate([mac.agent, learner.target_mac.agent, learner.role_mixer, learner.target_role_mixer]):
        fill(part.parameters(), seed=seed)
    return mac, learner


def test_points_that_are_near_each_other_are_one_cluster():
    points = th.tensor([[0.0, 0], [0, 1], [9, 9], [9, 8], [-9, 9], [-8, 9], [0, 0.5]])
    found = clusters(points, 3).tolist()
    assert found[0] == found[1] == found[6] and found[2] == found[3] and found[4] == found[5]
    assert len(set(found)) == 3
    assert clusters(th.zeros(4, 2), 2).tolist() == [0, 0, 0, 0]


def test_roles_have_the_actions_of_a_cluster():
    mac, _ = make(with_roles(random_batch([3], 4, n_agents=N)))
    agent = mac.agent
    agent.take_spaces(th.tensor([[1.0, 0, 0, 0], [5, 5, 5, 5], [1.1, 0, 0, 0]]))
    together, alone = agent.role_actions[agent.role_actions.sum(1).argsort(descending=True)]
    assert together.tolist() == [1, 0, 1] and alone.tolist() == [0, 1, 0]
    role = int(agent.role_actions[:, 1].argmax())
    th.testing.assert_close(agent.role_vectors[1 - role], th.tensor([1.05, 0, 0, 0]))
    legal = agent.legal(th.tensor([[1, 1, 0], [1, 0, 1]]), th.tensor([[role], [role]]))
    assert legal.tolist() == [[0, 1, 0], [1, 0, 1]]  # of a role without a legal action, all


def test_agents_keep_a_role_for_some_steps_and_act_within_it():
    batch = with_roles(random_batch([6] * 40, 7, n_agents=N))
    mac, _ = make(batch, epsilon=0.5)
    mac.agent.take_spaces(th.randn(A, 4))
    mac.init_hidden(40)
    roles, allowed = [], []
    for t in range(6):
        decision = mac.decide(batch, t, 0)
        roles.append(decision.extra("roles"))
        legal = mac.agent.legal(batch["avail_actions"][:, t], roles[-1])
        allowed.append(legal.gather(-1, decision.actions["actions"].unsqueeze(-1)))
    roles = th.cat(roles, dim=-1)
    assert th.cat(allowed).all() and roles.unique().tolist() == [0, 1]
    assert th.equal(roles[..., 0::2], roles[..., 1::2]) and not th.equal(roles[..., 0], roles[..., 2])
    # in tests, the best one
    mac.init_hidden(40)
    chosen = mac.decide(batch, 0, 0, test_mode=True).extra("roles")
    with th.no_grad():
        best = mac.agent.role_values(unroll_mac(mac, batch)[1]["role_hidden"][:, 0]).argmax(-1, keepdim=True)
    assert th.equal(chosen, best)
    assert (roles[..., 0] == best[..., 0]).float().mean() == pytest.approx(0.75, abs=0.1)


@pytest.mark.parametrize("double_q", [True, False])
def test_losses_by_loops(double_q):
    """Of episodes that end within the time of a role, by a terminal state or by a limit."""
    ends = ["terminated", "terminated", "truncated", "truncated"]
    batch = with_roles(random_batch([3, 4, 5, 3], 6, n_agents=N, ends=ends))
    mac, learner = make(batch, double_q=double_q)
    for agent in (mac.agent, learner.target_mac.agent):
        agent.take_spaces(th.tensor([[0.5, 0, -1, 0], [2, 5, 1, 0], [0.2, 0, -1, 1]]))
    own, target = mac.agent, learner.target_mac.agent
    with th.no_grad():
        (_, of_own), (_, of_target) = unroll_mac(mac, batch), unroll_mac(learner.target_mac, batch)
        roles, legal = batch["roles"], own.legal(batch["avail_actions"], batch["roles"]).bool()
        values, next_values = own.values(of_own["hidden"], roles), target.values(of_target["hidden"], roles)
        of_roles, next_roles = own.role_values(of_own["role_hidden"]), target.role_values(of_target["role_hidden"])
        errors, role_errors = [], []
        for b, (length, ended) in enumerate([(3, True), (4, True), (5, False), (3, False)]):
            rewards, state = batch["reward"][b, :, 0], batch["state"][b]
            for t in range(length):
                chooser = (values if double_q else next_values)[b, t + 1].masked_fill(~legal[b, t + 1], -th.inf)
                following = next_values[b, t + 1].gather(1, chooser.argmax(1, keepdim=True)).sum()
                y = rewards[t] + 0.9 * (0 if ended and t == length - 1 else following)
                errors.append(values[b, t].gather(1, batch["actions"][b, t]).sum() - y)
                if t % C:
                    continue
                end = min(t + C, length)
                best = (of_roles if double_q else next_roles)[b, end].argmax(1, keepdim=True)
                following = next_roles[b, end].gather(1, best).view(1, 1, N)
                following = learner.target_role_mixer(following, state[end].view(1, 1, -1)).squeeze()
                y = rewards[t:end].sum() + 0.9 * (0 if ended and end == length else following)
                q = of_roles[b, t].gather(1, roles[b, t]).view(1, 1, N)
                role_errors.append(learner.role_mixer(q, state[t].view(1, 1, -1)).squeeze() - y)
        role_loss = float(th.stack(role_errors).square().mean())
        td_loss = float(th.stack(errors).square().mean())
    learner.train(batch, 0, 0)
    logged = learner.logger.last()
    assert logged["role_loss"] == pytest.approx(role_loss, rel=1e-4)
    assert logged["loss"] == pytest.approx(td_loss + role_loss, rel=1e-4)


def test_effects_see_the_others_actions_in_their_order():
    args = make_args(n_agents=N, n_actions=A, action_latent_dim=4, state_latent_dim=8)
    effects = ActionEffects(2, args)
    obs, actions = th.randn(5, N, 2), th.eye(A)[th.randint(A, (5, N))]
    found = effects(obs, actions)
    for i in range(N):
        others = [actions[:, j] for j in range(N) if j != i]
        seen = effects.seen(th.cat([obs[:, i], *others], 1))
        known = th.cat([seen, effects.action_vectors()[actions[:, i].argmax(1)]], 1)
        th.testing.assert_close(found[0][:, i], effects.next_obs(known))
        th.testing.assert_close(found[1][:, i], effects.reward(known))


def test_spaces_are_made_once_and_then_effects_are_no_longer_learned(tmp_path):
    batch = with_roles(random_batch([3, 4], 6, n_agents=N))
    mac, learner = make(batch, role_spaces_start=50, reward_effect_coef=2.0)
    before = {key: x.clone() for key, x in learner.effects.state_dict().items()}
    with th.no_grad():
        next_obs, rewards = learner.effects(batch["obs"][:, :-1], batch["actions_onehot"][:, :-1])
        of_steps = ((next_obs - batch["obs"][:, 1:]) ** 2).sum(-1)
        of_steps += 2 * ((rewards - batch["reward"][:, :-1].unsqueeze(2)) ** 2)[..., 0]
        loss = sum(of_steps[b, :length].sum() for b, length in enumerate((3, 4))) / (7 * N)
    learner.train(batch, 0, 0)
    assert learner.logger.last()["effects_loss"] == pytest.approx(float(loss), rel=1e-4)
    learner.train(batch, 50, 1)
    learnt = learner.effects.state_dict()
    assert any(not th.equal(before[key], learnt[key]) for key in before)
    assert th.equal(mac.agent.action_vectors, learner.effects.action_vectors())
    assert th.equal(learner.target_mac.agent.role_actions, mac.agent.role_actions)
    learnt, spaces = {key: x.clone() for key, x in learnt.items()}, mac.agent.role_vectors.clone()
    learner.train(batch, 60, 2)
    assert all(th.equal(learnt[key], x) for key, x in learner.effects.state_dict().items())
    assert th.equal(spaces, mac.agent.role_vectors)
    learner.save_models(str(tmp_path))
    mac, other = make(batch)
    assert not other.has_spaces
    other.load_models(str(tmp_path))
    assert other.has_spaces and th.equal(spaces, mac.agent.role_vectors)


def test_agents_with_weights_of_their_own_compute_as_separate_ones():
    args = make_args(**SETTINGS)
    agents = [RODEAgent(6, args) for _ in range(N)]
    for agent in agents[1:]:
        agent.load_state_dict({key: getattr(agents[0], key) for key, _ in agents[0].named_buffers()}, strict=False)
    together = copy.deepcopy(agents[0])
    unshare(together, N, "agents")
    own = [agent.state_dict() for agent in agents]
    with th.no_grad():
        for name, weight in together.named_parameters():
            weight.copy_(th.stack([state[name] for state in own]))
        x = th.randn(4 * N, 6)
        start = for_all_agents(together.init_hidden(), 2, N)
        found, _ = together.sequence(together.encode(x), [2 * N, 2 * N], start)
        for i, agent in enumerate(agents):
            start = for_all_agents(agent.init_hidden(), 2, 1)
            expected, _ = agent.sequence(agent.encode(x[i::N]), [2, 2], start)
            th.testing.assert_close(found[i::N], expected)
