"""Runs on a GPU, which tests/support/pretend_gpu.py pretends to have, beside the same runs on the CPU."""

from dataclasses import dataclass
from itertools import product

import pytest

from gpu_runs import (
    config_of,
    evaluated,
    modelled,
    on_card,
    on_gpu,
    resumed,
    trained,
    trained_with_children,
    waits_and_sends,
)
from small_training import one_of_each_part

pytestmark = pytest.mark.slow

# what acts, learns and keeps experience, each part of it in some preset
PRESETS = one_of_each_part("share_params")
# natural gradients are solved for step by step, which enlarges rounding: 0.0016 on an Intel Xeon
ENLARGED = {"hatrpo": 0.01}
KINDS = ["qmix", "coma", "ippo", "sac_discrete", "iqn", "enn_ppo"]


def _same(there, here, rel=1e-3):
    """Statistics are equal up to the rounding of GRUs, which the pretend GPU computes in other steps."""
    assert there.keys() == here.keys()
    assert any(key.endswith("loss") for key in here)
    for key in here:
        assert there[key] == pytest.approx(here[key], rel=rel, abs=1e-5, nan_ok=True), key


@pytest.mark.parametrize("algorithm", PRESETS)
def test_every_preset_trains_there_as_on_the_cpu(algorithm):
    config = config_of(algorithm, **CHANGED.get(algorithm, {}))
    _same(on_gpu(trained, on_card(config), "gpu"), trained(config, "cpu"), rel=ENLARGED.get(algorithm, 1e-3))


@pytest.mark.parametrize("intrinsic", ["rnd", "emc"])
def test_intrinsic_rewards_there_are_those_of_the_cpu(intrinsic):
    config = config_of("vdn", intrinsic=intrinsic, intrinsic_coef=0.5)
    _same(on_gpu(trained, on_card(config), "gpu"), trained(config, "cpu"))


@pytest.mark.parametrize("algorithm", ["qmix", "iqn"])
@pytest.mark.parametrize(("collection", "device"), [("async", "cuda"), ("async", "cpu"), ("sync", "cpu")])
def test_acting_ahead_and_on_another_device(algorithm, collection, device):
    config = config_of(algorithm, collection=collection)
    _same(on_gpu(trained, {**config, "acting_device": device}, "gpu"), trained(config, "cpu"))


ON_THE_CPU = [
    ("qmix", {}),
    ("vdn", {"runner": "batched", "batch_size_run": 2, "batched_mode": "continuous"}),
    ("coma", {}),
    ("ippo", {"keep_memory": True, "normalise_observations": True}),
    ("mappo", {"batch_size_run": 2}),
    ("pqn_vdn", {"store_transforms": ["normalise"]}),
    ("ppo", {"critic": "trunk"}),
    ("iql", {"collection": "async"}),
    ("qmix", {"collection": "collectors", "collectors": {"processes": 1, "deterministic": True}}),
]


@pytest.mark.parametrize(("algorithm", "changes"), ON_THE_CPU)
def test_small_decisions_are_made_on_the_cpu_and_change_no_figure(algorithm, changes):
    config = config_of(algorithm, **changes)
    found, said = on_gpu(_trained_and_said, config)
    assert [line for line in said if line.startswith("Acting on the CPU, learning on cuda (acting_device=auto)")]
    _same(found, trained(config, "cpu"))


def _trained_and_said(config):
    import logging

    said, log = [], logging.Logger("auto")
    log.addHandler(handler := logging.Handler())
    handler.emit = lambda record: said.append(record.getMessage())
    return trained(config, "gpu", log), said


@pytest.mark.parametrize("algorithm", ["qmix", "ippo", "coma", "pqn_vdn"])
def test_acting_on_the_cpu_waits_for_the_card_once_a_rollout(algorithm):
    """For the weights; and rollouts, or samples, go there in one copy."""
    config = config_of(algorithm)
    decisions = config["rollout_steps"] if config["runner"] == "rollout" else config["env_args"]["time_limit"] + 1
    most = Most(decision=(1.01 / decisions, 0), update=COUNTS.get(algorithm, Most()).update, rest=(0, 2))
    _require_at_most(most, on_gpu(waits_and_sends, config))


@pytest.mark.parametrize(("algorithm", "acting_device"), [("qmix", "cuda"), ("iqn", "cpu")])
def test_collectors_act_for_a_learner_there(algorithm, acting_device):
    inorder = {"processes": 2, "deterministic": True}
    config = config_of(algorithm, collection="collectors", collectors=inorder)
    there = on_gpu(trained_with_children, {**config, "acting_device": acting_device}, "gpu")
    _same(there, trained(config, "cpu"))


@pytest.mark.parametrize(
    ("algorithm", "learner", "acting"),
    [
        ("qmix", "cuda:0", "cuda:1"),
        ("iqn", "cuda:1", "cuda:0"),
        ("enn_ppo", "cuda:1", "cuda:1"),
        ("ippo", "cuda:1", "cuda:0"),
    ],
)
def test_learning_and_acting_on_two_cards(algorithm, learner, acting):
    there = config_of(algorithm, learner_device=learner, acting_device=acting)
    _same(on_gpu(trained, there, "gpu"), trained(config_of(algorithm), "cpu"))


def _both(device):
    return {"learner_device": device, "acting_device": device}


@pytest.mark.parametrize(
    ("algorithm", "first", "then"),
    [
        *((algorithm, {"acting_device": "cuda", "buffer_cpu_only": True}, {}) for algorithm in KINDS),
        # small decisions are made on the CPU
        *((algorithm, {"acting_device": "auto"}, {}) for algorithm in ("qmix", "ippo")),
        ("qmix", {"acting_device": "cuda"}, {"acting_device": "auto"}),
        ("ippo", {"acting_device": "auto"}, {"acting_device": "cuda"}),
        # on another device
        ("qmix", _both("cpu"), _both("cuda:1")),
        ("iqn", _both("cuda"), _both("cpu")),
        ("enn_ppo", _both("cuda:1"), _both("cuda")),
        ("ippo", _both("cpu"), _both("cuda")),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_a_run_is_resumed(algorithm, first, then):
    config = config_of(algorithm)
    _same(on_gpu(resumed, {**config, **first}, "gpu", then), resumed(config, "cpu"))


@pytest.mark.parametrize("algorithm", ["qmix", "ippo", "iqn"])
def test_a_model_of_one_device_plays_on_the_other_and_is_recorded(algorithm, tmp_path):
    config = config_of(algorithm, "racing" if algorithm == "iqn" else "two_step")
    of_cpu = modelled(config, "cpu", str(tmp_path / "cpu"))
    of_gpu = on_gpu(modelled, on_card(config), "gpu", str(tmp_path / "gpu"))
    here = evaluated(config, of_cpu, "cpu", str(tmp_path / "a"))
    assert here[1] >= 1
    assert evaluated(config, of_gpu, "cpu", str(tmp_path / "b")) == pytest.approx(here, rel=1e-3)
    for number, (there, models) in enumerate(product((on_card(config), config), (of_cpu, of_gpu))):
        found = on_gpu(evaluated, there, models, "gpu", str(tmp_path / str(number)))
        assert found == pytest.approx(here, rel=1e-3)


def test_an_operation_on_two_devices_is_refused_as_by_a_gpu():
    message = on_gpu(_mistaken)
    assert message == ["two devices", "two cards", "not contiguous"]


def _mistaken():
    import torch as th

    found = []
    try:
        th.ones(3, device="cuda") + th.ones(3)
    except RuntimeError as error:
        found.append("two devices" if "found at least two devices, cuda:0 and cpu" in str(error) else str(error))
    try:
        th.ones(3, device="cuda") + th.ones(3).to("cuda:1")
    except RuntimeError as error:
        found.append("two cards" if "found at least two devices, cuda:0 and cuda:1" in str(error) else str(error))
    network = th.nn.GRU(2, 4).cuda()
    try:
        network(th.ones(5, 3, 2).cuda(), th.ones(1, 1, 4).cuda().expand(1, 3, 4))
    except RuntimeError as error:
        found.append("not contiguous" if "hx is not contiguous" in str(error) else str(error))
    return found


def test_what_a_gpu_is_waited_for_is_counted():
    """By torch.cuda.set_sync_debug_mode on an H200, all of these wait but copies with `non_blocking`."""
    blocking = {"to", "as_tensor", "list as index", "index of the CPU"}
    for name, (answers, waits, sends) in on_gpu(_waiting).items():
        assert (answers, waits, sends) == (
            (0, 0, 1) if name == "sent" else (0, 1, 1) if name in blocking else (1, 1, 0)
        )


def _waiting():
    import torch as th

    import pretend_gpu

    there, here = th.arange(4.0, device="cuda"), th.arange(4)
    mask, counts, found = there > 1, pretend_gpu.counts, {}
    for name, function in {
        "sent": lambda: here.to("cuda", non_blocking=True),
        "to": lambda: here.to("cuda"),
        "as_tensor": lambda: th.as_tensor([1, 2], device="cuda"),
        "list as index": lambda: there[[0, 1]],
        "index of the CPU": lambda: there[here],
        "cpu": there.cpu,
        "item": there[0].item,
        "bool": lambda: bool(mask[0]),
        "nonzero": mask.nonzero,
        "mask as index": lambda: there[mask],
        "repeats": lambda: there.repeat_interleave(mask.long()),
    }.items():
        counts.clear()
        function()
        found[name] = counts.answers(), counts.waits(), counts.sends()
    return found


@dataclass(frozen=True)
class Most:
    """How often the card may have to answer, and may be sent to: at a decision, in an update, in the rest of a round.

    A rollout ends with what its last decision led to, which is sent, too. In the rest of a round a rollout comes into
    main memory, or where its steps are; then a sample goes to the card.
    """

    decision: tuple[float, float] = (1, 1.2)
    update: tuple[float, float] = (0, 3)
    rest: tuple[float, float] = (1, 2)


# a rollout of one step
ONE_STEP = Most(decision=(1, 2.25))
# the best episodes of a rollout are looked for in main memory, before the rest comes there
KEEPS_BEST = Most(decision=(1.25, 1.25), update=(0, 3), rest=(1, 3))
# each minibatch sends its rows, where its steps are, and how many each step has
MINIBATCHES = Most(update=(0, 10))
# the same, and of two recurrent networks
TWO_NETWORKS = Most(update=(0, 22))
# each agent's policy sees the rollout before and after its updates, as each trial of a line search does
IN_TURN = Most(update=(0, 34))
# a sample for each of four updates
FOUR_SAMPLES = Most(rest=(1, 4))
# where each entity of a permuted sample comes from, and each action, and goes to
PERMUTED = Most(rest=(1, 13))
# each turn sends the random numbers of its policy's steps
TRANSITIONS_IN_TURN = Most(decision=(1, 2.25), update=(0, 4))
COUNTS = {
    **dict.fromkeys(("td3", "omar", "sac", "tqc", "crossq", "sac_cql", "implicit_q"), ONE_STEP),
    "linesight": KEEPS_BEST,
    **dict.fromkeys(("ippo", "mappo", "generalist", "mat", "mat_dec", "commformer"), MINIBATCHES),
    **dict.fromkeys(("pymarlzoo_mat_dec", "pymarlzoo_commformer", "ppo", "pqn_vdn"), MINIBATCHES),
    **dict.fromkeys(("pymarl2_ippo", "pymarlzoo_happo"), TWO_NETWORKS),
    # networks are laid out by numbers of a frame, which come back before each decision; indices are sent one by one
    "enn_ppo": Most(decision=(2, 10.4), update=(0, 37)),
    **dict.fromkeys(("ia2c", "commnet", "tarmac", "ic3net"), Most(update=(0, 4))),
    **dict.fromkeys(("hpn_vdn", "deepset_qmix", "gnn_qmix", "asn_qmix"), FOUR_SAMPLES),
    "pymarl3_vdn_DA": PERMUTED,
    **dict.fromkeys(("hatd3", "hasac"), TRANSITIONS_IN_TURN),
    **dict.fromkeys(("happo", "hatrpo", "trpo"), IN_TURN),
}
# fewer updates of what takes long
CHANGED = {name: {"updates_per_rollout": 1} for name in ("refil", "transf_qmix", "pymarlzoo_emc")}


@pytest.mark.parametrize("algorithm", PRESETS)
def test_no_preset_waits_for_the_card_or_sends_to_it_more_often_than_that(algorithm):
    """Statistics and an optimiser's first step apart."""
    config = on_card(config_of(algorithm, **CHANGED.get(algorithm, {})))
    _require_at_most(COUNTS.get(algorithm, Most()), on_gpu(waits_and_sends, config))


def _require_at_most(most, found):
    for part in ("decision", "update", "rest"):
        answers, sends = getattr(found, part)
        assert answers <= getattr(most, part)[0], part
        assert sends <= getattr(most, part)[1], part
    assert found.blocking == set()


@pytest.mark.parametrize("mode", ["synchronous", "continuous"])
def test_a_batch_sends_once_and_waits_once_a_decision(mode):
    """As presets' runners do (above)."""
    config = config_of("qmix", runner="batched", batch_size_run=3, batched_mode=mode)
    _require_at_most(Most(), on_gpu(waits_and_sends, on_card(config)))


@pytest.mark.parametrize(
    ("algorithm", "changes", "most"),
    [
        ("qmix", {}, Most()),
        # the new priorities come back
        ("iqn", {"priority_alpha": 0.6}, Most(decision=(1.13, 1.2), update=(1, 3), rest=(1, 6.8))),
        ("masac", {}, ONE_STEP),
    ],
    ids=str,
)
def test_a_buffer_on_the_card_changes_no_figure_and_hardly_waits(algorithm, changes, most):
    config = config_of(algorithm, **changes, buffer_cpu_only=False)
    there = on_card(config)
    _same(on_gpu(trained, there, "gpu"), trained(config, "cpu"))
    _require_at_most(most, on_gpu(waits_and_sends, there))


def test_steps_that_are_left_out_at_the_end_are_reported():
    """Nobody looks between two statistics: the run does, before it ends."""
    said, weights_are_finite = on_gpu(_ends_with_nan, on_card(config_of("qmix", learner_log_interval=10**6)))
    assert [line for line in said if line.startswith("Updates at the end of training were left out: loss (nan)")]
    assert weights_are_finite


def _ends_with_nan(config):
    import logging

    import torch as th

    from learners.q_learner import QLearner

    said, calls, step, kept = [], [], QLearner._step, {}

    def late_nan(self, optimiser, loss, *more):
        calls.append(loss)
        kept["parameters"] = list(self.mac.parameters())
        return step(self, optimiser, loss * float("nan") if len(calls) > 3 else loss, *more)

    log = logging.Logger("the end")
    log.addHandler(handler := logging.Handler())
    handler.emit = lambda record: said.append(record.getMessage())
    QLearner._step = late_nan
    try:
        trained({**config, "on_non_finite": "stop"}, "gpu", log)
    finally:
        QLearner._step = step
    assert len(calls) > 4
    return said, all(bool(th.isfinite(x).all()) for x in kept["parameters"])
