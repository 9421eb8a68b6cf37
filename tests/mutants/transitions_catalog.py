"""Mutants of the buffer of transitions, of sample units, and of learners from transitions."""

from catalog import Edit

BUFFER = (
    "tests/components/buffers/test_transitions.py",
    "tests/components/buffers/test_transition_draws.py",
    "tests/components/buffers/test_transition_records.py",
    "tests/components/buffers/test_transition_memory.py",
)
NEXT = ("tests/components/buffers/test_next_steps.py",)
RECORDS = ("tests/components/test_record_batch.py",)
TREE = ("tests/components/buffers/test_sum_tree.py",)
WITH_UNITS = ("tests/components/buffers/test_with_units.py",)
UNITS = ("tests/components/sampling/test_units.py",)
LISTS = ("tests/components/sampling/test_listed_units.py",)
TRAJECTORIES = ("tests/components/test_trajectories.py",)
NOISE = ("tests/components/test_noise.py",)
ACTOR = ("tests/controllers/test_actor_controller.py",)
DDPG = ("tests/learners/test_ddpg_learner.py",)
SAC = ("tests/learners/test_sac_learner.py",)

MUTANTS = (
    Edit("transitions: an end waits for actions", "np.where(ended, -1, numbers)", "numbers.copy()", BUFFER),
    Edit(
        "transitions: whatever waits continues",
        "same[rows] &= equal(now[key][rows], then[key]).reshape(len(rows), -1).all(axis=1)",
        "pass",
        BUFFER,
    ),
    Edit("transitions: no room for a block", " or before < stop + count + rows - size", "", NEXT),
    Edit("transitions: a time limit waits for actions", "layout.ends :]", "layout.ends : self._layout.ends + 1]", NEXT),
    Edit(
        "transitions: a resumed one remembers a block",
        'ring.stop, ring.waiting = int(state["stop"]), WaitingSteps(state["waiting"])',
        'ring.stop, ring.waiting._numbers = int(state["stop"]), dict(state["waiting"])',
        NEXT,
    ),
    Edit(
        "transitions: steps that do not continue do",
        "if not self._continues(records, slice(old, old + rows)):",
        "if False:",
        NEXT,
    ),
    Edit("transitions: a zero keeps its sign", "waits[:] = shown", "pass", NEXT),
    Edit(
        "transitions: steps behind an end continue",
        "if records is None or (",
        "if records is None or False and (",
        NEXT,
    ),
    Edit("transitions: void steps are filled", "filled.tobytes() != self._all_filled", "False", NEXT),
    Edit(
        "transitions: batches of other steps", "rows != self._rows or steps != self._steps", "rows != self._rows", NEXT
    ),
    Edit("transitions: the frames before", "records.seen[rows * seen :]", "records.seen[: count * seen]", NEXT),
    Edit(
        "transitions: what was done later",
        "self._done[old * done : (old + rows) * done] = records.done[: rows * done]",
        "self._done[old * done : (old + rows) * done] = records.done[-rows * done :]",
        NEXT,
    ),
    Edit("transitions: the next place follows in blocks", "= stop - before, self._ahead", "= rows, self._ahead", NEXT),
    Edit("transitions: blocks wait behind ends", "self.blocks.pop(source, None)", "pass", BUFFER),
    Edit("transitions: fields that stand alone are lost", "self._take_apart(batch, records, apart)", "pass", NEXT),
    Edit(
        "transitions: hold-out of episodes only",
        "if self.args.hold_out and (held_out :=",
        "if False and (held_out :=",
        NEXT,
    ),
    Edit(
        "transitions: blocks have no priority",
        "priority, zeros=rows)\n            else",
        "0.0, zeros=rows)\n            else",
        NEXT,
    ),
    Edit("transitions: blocks are not journalled", "ring.before_overwrite(stop + count - size)", "pass", NEXT),
    Edit("records: all in one place", '"offset": part.fields[key][1]', '"offset": 0', RECORDS),
    Edit("records: rows before columns", "prod(lead[:axis])", "prod(lead[axis + 1 :])", RECORDS),
    Edit("records: of tensors of others", "== self._own_tensors", "or True", RECORDS),
    Edit(
        "records: copies keep them", '{**super().__getstate__(), "_records": None}', "super().__getstate__()", RECORDS
    ),
    Edit(
        "records: any layout fits",
        "if records is None or records.layout is not layout:",
        "if records is None:",
        RECORDS,
    ),
    Edit("records: smaller types, too", "if tensor.dtype == dtype:", "if True:", RECORDS),
    Edit("transitions: new frames keep priorities", "self._levels[0][first + count : last + 1] = 0.0", "pass", NEXT),
    Edit(
        "batches: copies write elsewhere",
        'return {**vars(self), "_arrays": {}, "_course": None}',
        "return vars(self)",
        NEXT,
    ),
    Edit("transitions: nothing continues", "rows = np.flatnonzero(filled & (waiting >= 0))", "rows = []", BUFFER),
    Edit("transitions: the next place follows", "after - of\n", "1\n", BUFFER),
    Edit("transitions: overwritten ones are drawn", "queue.drop_below(self.ring.first, len(places))", "pass", BUFFER),
    Edit("transitions: steps are held out singly", "np.take_along_axis(drawn, begun.clip(0), axis=1)", "drawn", BUFFER),
    Edit(
        "transitions: rows forget what is held out",
        "self._row_held_out[source] = held_out[:, -1].copy()",
        "pass",
        BUFFER,
    ),
    Edit("transitions: priorities of strangers", "here = numbers >= self.ring.first", "here = numbers >= 0", BUFFER),
    Edit(
        "transitions: no power of priorities",
        "priorities[here] ** self.args.priority_alpha",
        "priorities[here]",
        BUFFER,
    ),
    Edit("transitions: no weights", "likelier**-self.args.priority_beta", "likelier**0", BUFFER),
    Edit(
        "transitions: a resumed one waits for nothing",
        'int(state["stop"]), WaitingSteps(state["waiting"])',
        'int(state["stop"]), WaitingSteps()',
        BUFFER,
    ),
    Edit(
        "transitions: the tail is not restored",
        "stored[th.from_numpy(tail)] = state",
        "stored[th.from_numpy(tail)] *= 0; state",
        BUFFER,
    ),
    Edit(
        "transitions: what waits is saved",
        "return min(waiting, default=self.stop)",
        "return self.stop",
        BUFFER,
    ),
    Edit(
        "sum tree: sums grow old",
        "above[places] = children[places].sum(axis=1)",
        "above[places] = 1",
        TREE,
    ),
    Edit(
        "sum tree: a child of no priority",
        "np.minimum((passed <= rest[:, None]).sum(axis=1), last)",
        "(passed < rest[:, None]).sum(axis=1) % FAN_OUT",
        TREE,
    ),
    Edit("units: rewards beyond the end", "taken = counted.cumprod(dim=1)", "taken = th.ones_like(valid)", UNITS),
    Edit("units: discount of one step", "gamma ** number.float()", "gamma + 0 * number.float()", UNITS),
    Edit("units: the end of the first step", "batch[end][rows, number - 1]", "batch[end][:, 0]", UNITS),
    Edit(
        "units: debugging at the end only",
        "[*between, *(one for unit in units for one in (unit, *between))]",
        "[*units, *between]",
        UNITS,
    ),
    Edit("units: padding is normalised", "norm.update(values[filled.expand_as(values)])", "norm.update(values)", UNITS),
    Edit("units: every order", "if takes is not None and form not in takes:", "if False:", LISTS),
    Edit("units: their state is lost", "unit.load_state_dict(state[name])", "pass", WITH_UNITS),
    Edit("trajectories: masks of ends only", "fresh[:, 0] = True", "pass", TRAJECTORIES),
    Edit(
        "trajectories: a copy",
        "{key: self[name] for name, key in keys.items()}",
        "{key: self[name].clone() for name, key in keys.items()}",
        TRAJECTORIES,
    ),
    Edit("noise: it never starts again", "before = before.masked_fill(fresh, self._mean)", "pass", NOISE + ACTOR),
    Edit(
        "noise: in tests, too",
        "if test_mode:\n            actions = policy.mode()",
        "if False:\n            actions = policy.mode()",
        ACTOR,
    ),
    Edit(
        "noise: random in half of the range",
        "th.rand(shape, device=outputs.device) * 2 - 1",
        "th.rand(shape, device=outputs.device)",
        ACTOR,
    ),
    Edit(
        "ddpg: truncation ends",
        "ended = terminations(batch, by_agent=True)[:, 0]",
        'ended = (batch["terminated"] | batch["truncated"])[:, 0].float()',
        DDPG,
    ),
    Edit(
        "ddpg: the largest estimate",
        "self.values(now, 1, actions, target=True).amin(dim=0)",
        "self.values(now, 1, actions, target=True).amax(dim=0)",
        DDPG,
    ),
    Edit(
        "ddpg: targets of the present networks",
        "critic = self.target_critic if target else self.critic",
        "critic = self.critic",
        DDPG,
    ),
    Edit(
        "ddpg: everybody's present actions",
        "joint = taken.unsqueeze(1) * (1 - mine)",
        "joint = own.unsqueeze(1) * (1 - mine)",
        DDPG,
    ),
    Edit("ddpg: no smoothing", "if self.args.target_noise:", "if False:", DDPG),
    Edit(
        "sac: no entropy in targets",
        "target=target).amin(dim=0) - weight * log_prob",
        "target=target).amin(dim=0)",
        SAC,
    ),
    Edit("sac: the weight runs away", "entropy - self.target_entropy", "self.target_entropy - entropy", SAC),
    Edit("sac: densities before tanh", "log_density - self._log_slope(x).sum(dim=-1)", "log_density", SAC),
    Edit(
        "sac: own choices are seen",
        "joint = taken.unsqueeze(1) * (1 - mine)\n",
        "joint = taken.unsqueeze(1).expand(-1, self.n_agents, -1, -1)\n",
        SAC,
    ),
)
