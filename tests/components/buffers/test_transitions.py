"""The buffer of transitions against a list of everything that was played."""

import copy
import os

import numpy as np
import pytest
import torch as th
from hypothesis import given, settings
from hypothesis import strategies as st

from components.buffers.frame_ring import _course
from components.buffers.transitions import LEAST_PRIORITY, TransitionReplay
from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from envs.fields import FieldSpec, pymarl_spec
from fakes import RecordingLogger
from helpers import make_args
from numbered_play import GROUPS, PREPROCESS, ROLLOUT_SCHEME, SCHEME, SIZES, NumberedPlay
from utils.errors import ConfigError, MusterError
from utils.rl_utils import episode_starts, valid_transitions

ROWS, STEPS = 3, 4


def new_buffer(capacity=60, scheme=ROLLOUT_SCHEME, columns=STEPS + 1, **changes):
    sizes = {"batch_size": 4, "buffer_size": capacity, "batch_size_run": ROWS, **changes}
    return TransitionReplay(scheme, GROUPS, columns, PREPROCESS, make_args(**sizes), RecordingLogger())


def frames_in(ring):
    """The frames that are held, oldest first."""
    places = np.arange(ring.first, ring.stop) % ring.capacity
    return ring.data["obs"][th.from_numpy(places), 0, 0].long().tolist()


def numbers_of(ring, steps):
    places = steps % ring.capacity
    return ring.data["obs"][th.from_numpy(places), 0, 0].long().tolist()


def learned_frames(buffer):
    return numbers_of(buffer.ring, buffer.learned[np.arange(len(buffer.learned))])


def require_transitions(buffer, play):
    """Everything that is held is as it was played."""
    ring, held = buffer.ring, frames_in(buffer.ring)
    assert len(held) == len(set(held)), "a frame is stored twice"
    played = [frame for frame in held if frame in play.steps]
    assert learned_frames(buffer) == played
    if not played:
        return
    steps = buffer.learned[np.arange(len(buffer.learned))]
    pairs = ring.batch(np.stack([steps, ring.following(steps)], axis=1))
    for row, frame in enumerate(played):
        step = play.steps[frame]
        assert pairs["obs"][row, :, 0, 0].tolist() == [frame, step.after]
        assert pairs["state"][row, 1, 0] == step.after
        assert pairs["reward"][row, 0, 0] == frame + 0.5
        assert pairs["actions"][row, 0, 0, 0] == frame % 3
        assert pairs["actions_onehot"][row, 0, 1].argmax() == frame % 3
        assert (pairs["terminated"][row, 0], pairs["truncated"][row, 0]) == (step.terminated, step.truncated)


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(18, 60), st.lists(st.integers(1, STEPS), max_size=25), st.booleans())
def test_rollouts_of_any_length_are_one_list_of_transitions(seed, capacity, lengths, lossy):
    """Each frame is held once; what follows a truncated step is the last frame of its episode."""
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(seed), lossy=lossy), new_buffer(capacity)
    added = 0
    for steps in lengths:
        added += buffer.insert(play.rollout(steps))
        require_transitions(buffer, play)
    assert added == len(play.steps)
    assert buffer.ring.stop == len(play.episode) or not lengths


def plays_of(sources, seed):
    """Play of several runners, whose frames have different numbers."""
    return [NumberedPlay(ROWS, np.random.default_rng([seed, k]), count=10**5 * k) for k in range(sources)]


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(18, 70), st.lists(st.tuples(st.integers(0, 2), st.integers(1, STEPS))))
def test_rollouts_of_several_sources_keep_their_rows_apart(seed, capacity, turns):
    """In any order of turns; a frame that waited too long for its actions is overwritten, and waits no more."""
    plays, buffer = plays_of(3, seed), new_buffer(capacity)
    for source, steps in turns:
        buffer.insert(plays[source].rollout(steps), source)
        ring = buffer.ring
        steps_of = {frame: step for play in plays for frame, step in play.steps.items()}
        held = frames_in(ring)
        learned = buffer.learned[np.arange(len(buffer.learned))]
        assert (np.diff(learned) > 0).all()
        frames = numbers_of(ring, learned)
        # a frame is there twice only if its first copy was about to be overwritten
        assert set(frames) == {frame for frame in held if frame in steps_of}
        if frames:
            pairs = ring.batch(np.stack([learned, ring.following(learned)], axis=1))
            assert pairs["obs"][:, 1, 0, 0].tolist() == [steps_of[frame].after for frame in frames]
            assert pairs["reward"][:, 0, 0].tolist() == [frame + 0.5 for frame in frames]
    if turns and capacity > 60:
        assert len(frames_in(buffer.ring)) - len(set(frames_in(buffer.ring))) <= ROWS * len(turns)


def test_frames_of_sources_in_turn_are_stored_once():
    plays, buffer = plays_of(3, 0), new_buffer(1000)
    for turn in range(30):
        buffer.insert(plays[turn % 3].rollout(2), turn % 3)
    held = frames_in(buffer.ring)
    assert len(held) == len(set(held)) == sum(len(play.episode) for play in plays)
    assert len(buffer.learned) == sum(len(play.steps) for play in plays)


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(18, 70))
def test_windows_of_several_sources_follow_their_episodes(seed, capacity):
    plays, buffer, rng = plays_of(3, seed), new_buffer(capacity), np.random.default_rng(seed)
    for _ in range(20):
        source = int(rng.integers(3))
        buffer.insert(plays[source].rollout(int(rng.integers(1, STEPS + 1))), source)
    after = {frame: step.after for play in plays for frame, step in play.steps.items()}
    learned = buffer.learned[np.arange(len(buffer.learned))]
    for row in buffer.ring.batch(np.stack([learned, buffer.ring.following(learned)], axis=1))["obs"][:, :, 0, 0]:
        assert after[int(row[0])] == int(row[1])


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(21, 50), st.integers(0, 12))
def test_whole_episodes_are_one_list_of_transitions(seed, capacity, calls):
    play = NumberedPlay(ROWS, np.random.default_rng(seed))
    play.episode.clear()
    buffer = new_buffer(capacity, SCHEME, columns=6)
    for _ in range(calls):
        buffer.insert(play.whole_episodes())
        require_transitions(buffer, play)
    assert buffer.ring.stop == len(play.episode)


def test_digideeps_ring():
    """Its defect 1: five-step episodes gave the pair (frame 4, frame 0 of the next episode)."""
    play, buffer = NumberedPlay(1, np.random.default_rng(0)), new_buffer(batch_size_run=1)
    play.present = [[1, 5, False]]
    for _ in range(12):
        buffer.insert(play.rollout(1))
    steps = buffer.learned[np.arange(len(buffer.learned))]
    pairs = buffer.ring.batch(np.stack([steps, buffer.ring.following(steps)], axis=1))
    assert pairs["obs"][:5, :, 0, 0].tolist() == [[1, 2], [2, 3], [3, 4], [4, 5], [5, 6]]
    assert pairs["truncated"][:5, 0, 0].tolist() == [0, 0, 0, 0, 1]
    assert not pairs["terminated"][:5, 0].any()


def test_the_newest_half_step_is_never_sampled():
    """Its defect 9: it was counted, and drawn."""
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(2)), new_buffer(18, batch_size=2)
    for _ in range(40):
        buffer.insert(play.rollout(1))
        if buffer.ready():
            assert {int(x) for x in buffer.sample()["obs"][:, 0, 0, 0]} <= set(play.steps)


def test_an_end_is_one_even_if_the_next_episode_looks_the_same():
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(2)), new_buffer()
    play.present = [[1, 1, True], [2, 1, False], [3, 9, True]]
    for _ in range(2):
        batch = play.rollout(1)
        batch["obs"].zero_()
        batch["state"].zero_()
        buffer.insert(batch)
    # two new frames of the rows whose episodes ended, one of the other
    assert buffer.ring.stop == 6 + 2 + 2 + 1


def test_a_rollout_that_was_left_out_is_no_step():
    """`on_non_finite=skip` leaves rollouts out: the next one does not continue the frames that wait."""
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(3), longest=20), new_buffer()
    buffer.insert(play.rollout(2))
    left_out = set(play.steps)
    play.rollout(2)
    left_out = set(play.steps) - left_out
    buffer.insert(play.rollout(2))
    assert not left_out & set(learned_frames(buffer))
    steps = buffer.learned[np.arange(len(buffer.learned))]
    pairs = buffer.ring.batch(np.stack([steps, buffer.ring.following(steps)], axis=1))["obs"][:, :, 0, 0].long()
    assert all(play.steps[first].after == second for first, second in pairs.tolist())


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_a_window_follows_the_episode_to_its_end(seed, length):
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(seed)), new_buffer(batch_size=8)
    for _ in range(5):
        buffer.insert(play.rollout(4))
    window = buffer.draw().window(length)
    assert window.max_seq_length == length + 1
    for row in range(8):
        frame = int(window["obs"][row, 0, 0, 0])
        for column in range(1, length + 1):
            known = frame in play.steps and play.steps[frame].after in frames_in(buffer.ring)
            assert bool(window["filled"][row, column]) == known
            if not known:
                assert not window["obs"][row, column:].any()
                assert not window["filled"][row, column:].any()
                break
            frame = play.steps[frame].after
            assert int(window["obs"][row, column, 0, 0]) == frame


def test_episodes_are_held_out_as_a_whole():
    np.random.seed(0)
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(1)), new_buffer(20000, hold_out=0.3, batch_size=64)
    for _ in range(600):
        buffer.insert(play.rollout(2))
    held = numbers_of(buffer.ring, buffer.held_out[np.arange(len(buffer.held_out))])
    learned = learned_frames(buffer)
    assert set(held) | set(learned) == set(play.steps)
    of_held, of_learned = ({play.episode[frame] for frame in frames} for frames in (held, learned))
    assert not of_held & of_learned
    assert len(of_held) / len(of_held | of_learned) == pytest.approx(0.3, abs=0.05)
    for _ in range(10):
        assert {int(x) for x in buffer.sample()["obs"][:, 0, 0, 0]} <= set(learned)
        assert {int(x) for x in buffer.hold_out()["obs"][:, 0, 0, 0]} <= set(held)
    assert new_buffer().hold_out() is None


def test_stretches_that_are_held_out_are_redrawn():
    """Each step redraws with probability 0.1: stretches of one kind last 10 / (1 - share) or 10 / share steps."""
    np.random.seed(1)
    play = NumberedPlay(ROWS, np.random.default_rng(1))
    buffer = new_buffer(20000, hold_out=0.3, hold_out_redraw=0.1, batch_size=64)
    kinds, begins = [], []
    held_out = buffer._held_out

    def listen(starts, source):
        kinds.append(held_out(starts, source))
        begins.append(starts)
        return kinds[-1]

    buffer._held_out = listen
    for _ in range(400):
        buffer.insert(play.rollout(8))
    kinds, begins = np.array(kinds), np.array(begins)
    within = ~begins[..., 1:]
    share = ((kinds[..., 1:] != kinds[..., :-1]) & within).sum() / within.sum()
    assert abs(kinds.mean() - 0.3) < 0.05
    assert abs(share - 0.1 * 2 * 0.3 * 0.7) < 0.01  # it redraws, and draws the other kind


def test_uniform_samples_are_uniform():
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(1)), new_buffer(40)
    for _ in range(20):
        buffer.insert(play.rollout(2))
    np.random.seed(0)
    counts = np.unique(np.concatenate([buffer.draw().numbers for _ in range(5000)]), return_counts=True)[1]
    assert len(counts) == len(buffer.learned)
    assert counts.min() > 0.8 * 20000 / len(counts)


class TestPriorities:
    def filled(self, **changes):
        play, buffer = NumberedPlay(ROWS, np.random.default_rng(1)), new_buffer(40, **changes)
        for _ in range(20):
            buffer.insert(play.rollout(2))
        return play, buffer

    @pytest.mark.slow
    def test_transitions_are_drawn_in_proportion(self):
        _, buffer = self.filled(priority_alpha=0.5, priority_beta=0.7, batch_size=8)
        steps = buffer.learned[np.arange(len(buffer.learned))]
        priorities = np.linspace(0, 3, len(steps)) ** 2
        buffer.update_priorities(th.from_numpy(steps), th.from_numpy(priorities))
        chances = (priorities + LEAST_PRIORITY) ** 0.5
        chances /= chances.sum()
        counts = np.zeros(len(steps))
        np.random.seed(0)
        for _ in range(2500):
            sample = buffer.sample()
            places = np.searchsorted(steps, sample["ids"].numpy())
            counts += np.bincount(places, minlength=len(steps))
            weights = (len(steps) * chances[places]) ** -0.7
            np.testing.assert_allclose(sample["weights"], weights / weights.max(), rtol=1e-5)
            assert sample["obs"][:, 0, 0, 0].tolist() == numbers_of(buffer.ring, steps[places])
        np.testing.assert_allclose(counts / counts.sum(), chances, atol=2e-3)

    def test_a_new_transition_has_the_largest_priority(self):
        play, buffer = self.filled(priority_alpha=1.0, batch_size=8)
        oldest = buffer.learned[np.arange(1)]
        buffer.update_priorities(th.from_numpy(oldest), th.tensor([7.0]))
        before = buffer.ring.stop
        buffer.insert(play.rollout(2))
        new = buffer.learned[np.arange(len(buffer.learned))]
        new = new[new >= before]
        assert len(new)
        assert (buffer._tree.priorities[new % 40] == 7 + LEAST_PRIORITY).all()

    def test_overwritten_transitions_are_ignored(self):
        play, buffer = self.filled(priority_alpha=1.0, batch_size=8)
        stale = buffer.learned[np.arange(len(buffer.learned))]
        for _ in range(20):
            buffer.insert(play.rollout(2))
        before = buffer._tree.priorities.copy()
        buffer.update_priorities(th.from_numpy(stale), th.full((len(stale),), 100.0))
        assert (buffer._tree.priorities == before).all()

    def test_steps_that_are_no_transitions_have_none(self):
        _, buffer = self.filled(priority_alpha=0.5, batch_size=8, hold_out=0.3)
        has = set((buffer.learned[np.arange(len(buffer.learned))] % 40).tolist())
        assert set(np.flatnonzero(buffer._tree.priorities).tolist()) == has

    def test_uniform_buffers_take_priorities_and_ignore_them(self):
        _, buffer = self.filled(batch_size=8)
        buffer.update_priorities(th.tensor([1, 2]), th.tensor([1.0, 2.0]))
        assert "ids" not in buffer.sample().scheme


@pytest.mark.parametrize("changes", [{}, {"priority_alpha": 0.6, "hold_out": 0.3}, {"buffer_folder": "TMP"}])
@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("sources", [1, 2])
def test_a_resumed_run_plays_on_and_samples_the_same(changes, steps, sources, tmp_path):
    changes = {key: str(tmp_path) if value == "TMP" else value for key, value in changes.items()}
    np.random.seed(1)
    plays, buffer = plays_of(sources, 5), new_buffer(40, **changes)
    for number in range(17):
        buffer.insert(plays[number % sources].rollout(steps), number % sources)
        if changes and number % 3 == 0 and buffer.ready() and "priority_alpha" in changes:
            sample = buffer.sample()
            buffer.update_priorities(sample["ids"], sample["obs"][:, 0, 0, 0])
    copy = new_buffer(40, **changes)
    copy.load_state_dict(buffer.state_dict())
    first = buffer.journal.first
    assert (copy.journal.first, copy.journal.stop) == (first, buffer.journal.stop)
    for stop, arrays in buffer.journal.rows(first, buffer.journal.stop):
        copy.journal.put(first, {key: array.copy() for key, array in arrays.items()})
        first = stop
    later = [plays[number % sources].rollout(steps) for number in range(17, 26)]
    samples = []
    for one in (buffer, copy):
        np.random.seed(3)
        samples.append([])
        for number, rollout in enumerate(later, start=17):
            one.insert(rollout, number % sources)
            samples[-1].append(one.sample())
            samples[-1].append(one.hold_out() or one.sample())
    for one, other in zip(*samples, strict=True):
        assert set(one.scheme) == set(other.scheme)
        assert all(th.equal(one[key], other[key]) for key in one.scheme)
    assert frames_in(buffer.ring) == frames_in(copy.ring)


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(18, 70), min_size=1, max_size=4), st.booleans())
def test_a_resized_buffer_holds_what_it_held(seed, sizes, prioritised):
    """As much of it as fits; and play continues, also in a buffer that resumes from its records."""
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(seed)), new_buffer(40, priority_alpha=prioritised * 0.5)
    for _ in range(9):
        buffer.insert(play.rollout(STEPS))
    for size in sizes:
        held = frames_in(buffer.ring)
        buffer.args.buffer_size = size
        buffer.take_live("buffer_size", size)
        assert frames_in(buffer.ring) == held[-size:]
        require_transitions(buffer, play)
        buffer.insert(play.rollout(STEPS))
        require_transitions(buffer, play)
    copy = new_buffer(40, priority_alpha=prioritised * 0.5)
    copy.load_state_dict(buffer.state_dict())
    assert copy.ring.capacity == sizes[-1]
    for stop, arrays in buffer.journal.rows(buffer.journal.first, buffer.journal.stop):
        copy.journal.put(stop - len(arrays["kind"]), {key: array.copy() for key, array in arrays.items()})
    later = play.rollout(STEPS)
    for one in (buffer, copy):
        one.insert(later)
    assert frames_in(copy.ring) == frames_in(buffer.ring)
    assert learned_frames(copy) == learned_frames(buffer)
    require_transitions(copy, play)


def test_a_size_that_does_not_fit_changes_nothing():
    _, buffer = NumberedPlay(ROWS, np.random.default_rng(0)), new_buffer(40)
    with pytest.raises(ConfigError, match="buffer_size=3 does not hold a rollout"):
        buffer.take_live("buffer_size", 3)
    assert buffer.ring.capacity == buffer.args.buffer_size == 40


def test_records_that_were_written_do_not_change():
    """A file of a checkpoint stays valid while the buffer holds any of its steps."""
    play, buffer, written = NumberedPlay(ROWS, np.random.default_rng(5)), new_buffer(40), {}
    for _ in range(30):
        buffer.insert(play.rollout(1))
        journal = buffer.journal
        held = next(iter(journal.rows(journal.first, journal.stop)), (0, {}))[1]
        for offset, number in enumerate(range(journal.first, journal.first + len(held.get("kind", ())))):
            record = {key: array[offset].tolist() for key, array in held.items()}
            assert written.setdefault(number, record) == record


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"buffer_folder": "TMP"}])
def test_a_copy_has_its_own_memory_and_continues(changes, tmp_path):
    changes = {key: str(tmp_path) for key in changes}
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(5), longest=30), new_buffer(40, **changes)
    for _ in range(9):
        buffer.insert(play.rollout(1))
    copied = copy.deepcopy(buffer)
    require_transitions(copied, play)
    held, rollouts = frames_in(buffer.ring), [play.rollout(1) for _ in range(20)]
    for rollout in rollouts:
        buffer.insert(rollout)
    assert frames_in(copied.ring) == held
    for rollout in rollouts:
        copied.insert(rollout)
    for one in (buffer, copied):
        require_transitions(one, play)
    assert frames_in(copied.ring) == frames_in(buffer.ring)


def test_damaged_blocks_are_refused():
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(5)), new_buffer(40)
    buffer.insert(play.rollout(4))
    (_, arrays), *_ = buffer.journal.rows(0, buffer.journal.stop)
    copy = new_buffer(40)
    copy.load_state_dict(buffer.state_dict())
    with pytest.raises(ValueError, match="instead of"):
        copy.journal.put(0, {key: value for key, value in arrays.items() if key != "field/reward"})
    with pytest.raises(ValueError, match="does not exist"):
        copy.journal.put(0, {**arrays, "ahead": arrays["ahead"] + 1000})


def test_a_memory_map_holds_the_same_and_leaves_no_file(tmp_path):
    held = []
    for folder in ("", str(tmp_path)):
        play, buffer = NumberedPlay(ROWS, np.random.default_rng(5)), new_buffer(40, buffer_folder=folder)
        for _ in range(12):
            buffer.insert(play.rollout(2))
        np.random.seed(0)
        sample = buffer.sample()
        held.append({key: sample[key] for key in sample.scheme})
        assert not os.listdir(tmp_path)
    assert all(th.equal(held[0][key], held[1][key]) for key in held[0])


def test_sizes_are_refused_before_anything_is_allocated(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="does not hold a rollout, which takes up to 18 steps"):
        new_buffer(17)
    with pytest.raises(MusterError, match=r"The replay buffer .* does not fit"):
        new_buffer(10**9)
    with pytest.raises(MusterError, match=r"does not fit into .*free"):
        new_buffer(10**9, scheme=SCHEME | {"camera": {"vshape": (10**6,)}}, buffer_folder=str(tmp_path))
    with pytest.raises(ConfigError, match="buffer_folder=/nowhere: No such file"):
        new_buffer(buffer_folder="/nowhere")


def test_pictures_keep_one_byte_and_observations_the_buffers_type():
    fields = {**pymarl_spec(SIZES).fields, "camera": FieldSpec("observation", (3, 4), "uint8")}
    spec = pymarl_spec(SIZES)
    scheme, groups, preprocess = scheme_of(type(spec)(fields, spec.groups, 5), "float16")
    args = make_args(buffer_size=60, batch_size_run=ROWS, batch_size=4)
    ring = TransitionReplay(scheme, groups, STEPS + 1, preprocess, args, RecordingLogger()).ring
    assert (ring.data["camera"].dtype, ring.data["obs"].dtype) == (th.uint8, th.float16)
    assert "actions_onehot" not in ring.data


def test_field_sizes_of_a_sample_are_those_of_a_batch():
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(5)), new_buffer()
    batch = play.rollout(4)
    buffer.insert(batch)
    sample = buffer.sample()
    assert isinstance(sample, EpisodeBatch)
    for key in buffer.scheme:
        assert sample[key].shape == (4, 2, *batch[key].shape[2:]), key
        assert sample[key].dtype == batch[key].dtype, key


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_the_course_of_a_rollout_is_that_of_the_learners(seed, steps):
    """The buffer works out in NumPy what `utils.rl_utils` says."""
    for rollout in (True, False):
        play = NumberedPlay(ROWS, np.random.default_rng(seed), lossy=rollout)
        batch = play.rollout(steps) if rollout else play.whole_episodes()
        filled, _, valid, begins = _course(batch, rollout)
        np.testing.assert_array_equal(valid, valid_transitions(batch).squeeze(2) > 0)
        if rollout:
            np.testing.assert_array_equal(begins[:, 1:], (episode_starts(batch).numpy() & filled)[:, 1:])
