"""V-trace: targets and advantages from what an older policy did (Espeholt et al. 2018)."""

import torch as th
import torch.nn.functional as F

from utils.rl_utils import td_lambda_returns


def vtrace(
    rewards: th.Tensor,
    terminated: th.Tensor,
    mask: th.Tensor,
    values: th.Tensor,
    ratios: th.Tensor,
    gamma: float,
    trace_lambda: float,
) -> tuple[th.Tensor, th.Tensor]:
    """V-trace targets of values and advantages of a policy from another one's steps (Espeholt et al. 2018, eq. 1).

    v[t] = V[t] + rho[t] (r[t] + gamma V[t+1] - V[t]) + gamma c[t] (v[t+1] - V[t+1]) with rho = min(1, ratio) and
    c = lambda rho; the advantage is rho[t] (r[t] + gamma v[t+1] - V[t]). Ends as in `td_lambda_returns`.

    Args:
        rewards, terminated, mask: `[B, T, 1]` or, by agent, `[B, T, n]`.
        values: V of all states, `[B, T + 1, n]`, n the number of agents or 1.
        ratios: of the probabilities of the actions, the policy's to the other one's, `[B, T, n]`.

    Returns:
        targets and advantages, `[B, T, n]`; 0 where the mask is.
    """
    rho, discount = ratios.clamp(max=1.0), gamma * (1 - terminated)
    now, following = values[:, :-1], values[:, 1:]
    # the recursion, in the form of lambda returns
    corrected = rho * rewards + (1 - rho) * (now - discount * following)
    targets = td_lambda_returns(corrected, terminated, mask, following, gamma, trace_lambda * rho)
    goes_on = F.pad((mask[:, 1:] > 0).expand(-1, -1, now.size(2)), (0, 0, 0, 1))
    later = th.where(goes_on, F.pad(targets[:, 1:], (0, 0, 0, 1)), following)
    return targets, th.where(mask > 0, rho * (rewards + discount * later - now), 0.0)
