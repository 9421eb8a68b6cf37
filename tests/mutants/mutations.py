"""Mutations: functions that get a part and return its replacement; `catalog.py` lists the mutants.

The source of a mutation is appended to the file of the part: it uses nothing from outside itself, and it reaches every
process that imports the part.
"""


def returns_at_once(original):
    return lambda *args, **kwargs: None


def leaves_out(original, name):
    def mutated(part, state, where=""):
        if name not in where:
            original(part, state, where)

    return mutated


def never_updates_targets(train):
    def mutated(self, batch, t_env, episode_num):
        import copy

        kept = copy.deepcopy((self.target_mac and self.target_mac.agent.state_dict(), self.target_networks))
        result = train(self, batch, t_env, episode_num)
        if self.target_mac:
            self.target_mac.agent.load_state_dict(kept[0])
        for name, network in kept[1].items():
            self.target_networks[name].load_state_dict(network.state_dict())
        return result

    return mutated


def always_updates_targets(train):
    def mutated(self, batch, t_env, episode_num):
        train(self, batch, t_env, episode_num)
        self._update_targets()

    return mutated


def everything_is_valid(original):
    def mutated(*args, **kwargs):
        return original(*args, **kwargs).fill_(1.0)

    return mutated


def what_was_filled_is_valid(original):
    """PyMARL's mask: the closing state of a truncated episode counts."""

    def mutated(batch, by_agent=False):
        mask = batch["filled"][:, :-1].float()
        mask[:, 1:] *= 1 - batch["terminated"][:, :-2].float()
        return mask if not by_agent else original(batch, by_agent) * 0 + mask

    return mutated


def nothing_terminates(original):
    def mutated(*args, **kwargs):
        return original(*args, **kwargs) * 0

    return mutated


def the_first_rows(original):
    def mutated(self, batch_size, trimmed=False):
        steps = int(self["filled"][:batch_size].sum(1).max()) if trimmed else self.max_seq_length
        return self[:batch_size, :steps]

    return mutated


def keeps_the_first_rollout(original):
    def mutated(self, ep_batch):
        if not self.episodes_in_buffer:
            return original(self, ep_batch)
        self._count(self.inserted + ep_batch.batch_size)
        return None

    return mutated


def always_zero(original):
    return lambda *args, **kwargs: 0.0


def everything_is_legal(original):
    def mutated(self, agent_inputs, avail_actions, *args, **kwargs):
        return original(self, agent_inputs, avail_actions * 0 + 1, *args, **kwargs)

    return mutated


def tests_as_it_trains(original):
    def mutated(self, agent_inputs, avail_actions, t_env, test_mode=False):
        return original(self, agent_inputs, avail_actions, t_env, test_mode=False)

    return mutated


def values_of_all_actions(original):
    return lambda values, avail_actions: values


def logs_copies(original):
    """Logged values stay among the statistics of the next interval."""

    def mutated(self, returns, stats, prefix):
        return original(self, list(returns), dict(stats), prefix)

    return mutated


def hidden_once(original):
    """The hidden state of an episode is the one that the last episode ended with."""

    def mutated(self, batch_size):
        hidden = getattr(self, "hidden_states", None)
        if hidden is None or len(hidden.reshape(-1, hidden.shape[-1])) != batch_size * self.n_agents:
            original(self, batch_size)

    return mutated


def steps_nothing(original):
    """The gradient is computed, and no weight changes."""

    def mutated(self, optimiser, *args, **kwargs):
        optimiser.step = lambda: None
        return original(self, optimiser, *args, **kwargs)

    return mutated


def of_the_first_environment(original):
    def mutated(args, seed, index, test_mode):
        return original(args, seed, 0, test_mode)

    return mutated


def ignores(original, key, value):
    """After the constructor, the part reads `value` for a key of its config, whatever its setting."""

    def mutated(self, *args, **kwargs):
        import copy

        original(self, *args, **kwargs)
        self.args = copy.copy(self.args)
        setattr(self.args, key, value)

    return mutated
