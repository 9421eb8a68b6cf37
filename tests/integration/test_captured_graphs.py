"""Runs with `cuda_graphs=on` on the pretend GPU (tests/support/pretend_graphs.py), beside those without."""

import pytest

from gpu_runs import config_of, on_card, on_gpu, resumed, trained

pytestmark = pytest.mark.slow

CAPTURED = [
    ("ippo", {"minibatches": 2}),
    ("happo", {"minibatches": 2}),
    ("happo", {"share_critic_params": False, "critics_apart": True, "value_norm_passes": 2}),
    ("pqn_qmix", {"obs_last_action": True}),
    ("ippo_smac", {"chunk_length": 4}),
    ("sac", {}),
    ("sac", {"losses_first": True, "value_network": True, "tune_entropy": False}),
    ("tqc", {}),
    ("crossq", {}),
    ("sac_cql", {}),
    ("implicit_q", {}),
    ("omar", {}),
    ("hasac", {}),
    ("sac_discrete", {"critic": "q_central"}),
    ("td3", {}),
    ("facmac", {}),
    ("iqn", {"self_loss_scaling": True}),
    # RAdam counts its steps in float32 there, which moves the first ones
    ("rainbow", {"optimizer": "adam"}),
]
LONGER = {"t_max": 72, "test_interval": 72, "epochs": 3, "rollout_steps": 8}


def _config(algorithm, changes):
    return on_card(config_of(algorithm, **{**LONGER, "batch_size_run": 4, **changes}))


def _same(there, here):
    assert there.keys() == here.keys()
    for key in here:
        assert there[key] == pytest.approx(here[key], rel=1e-2, abs=1e-4, nan_ok=True), key


@pytest.mark.parametrize(("algorithm", "changes"), CAPTURED)
def test_captured_updates_change_no_figure(algorithm, changes):
    config = _config(algorithm, changes)
    found, graphs, said = on_gpu(_trained, {**config, "cuda_graphs": "on"})
    assert graphs[0] >= 1
    assert graphs[1] >= 2
    assert [line for line in said if "captured" in line] == []
    _same(found, on_gpu(trained, config, "gpu"))


def test_learners_that_declare_it_are_those_tested_here():
    from learners import REGISTRY

    declared = {name for name in REGISTRY if REGISTRY.entry(name).traits.get("captured")}
    assert {_config(algorithm, {})["learner"] for algorithm, _ in CAPTURED} == declared


@pytest.mark.parametrize(("first", "then"), [("on", "on"), ("on", "off"), ("off", "on")])
def test_a_run_with_captured_updates_is_resumed(first, then):
    config = _config("ippo", {})
    there = on_gpu(resumed, {**config, "cuda_graphs": first}, "gpu", {"cuda_graphs": then})
    _same(there, on_gpu(resumed, config, "gpu"))


def test_an_update_that_cannot_be_captured_is_made_as_before():
    config = _config("ippo", {})
    found, graphs, said = on_gpu(_trained, {**config, "cuda_graphs": "on"}, True)
    assert graphs[1] == 0
    (warning,) = [line for line in said if "captured" in line]
    assert warning.startswith("Updates could not be captured as a graph of the GPU, and continue as single operations")
    _same(found, on_gpu(trained, config, "gpu"))


def _trained(config, asks=False):
    """The statistics of a run, its captured graphs and their replays, and what it said; `asks`: an update waits."""
    import logging

    import pretend_graphs
    from learners.ppo_learner import PPOLearner

    said, log, graphs = [], logging.Logger("graphs"), []
    log.addHandler(handler := logging.Handler())
    handler.emit = lambda record: said.append(record.getMessage())
    update, begin = PPOLearner._update, pretend_graphs.CUDAGraph.begin

    def asking(learner, part, *more):
        part["mask"].sum().item()
        return update(learner, part, *more)

    def noted(graph):
        graphs.append(graph)
        begin(graph)

    pretend_graphs.CUDAGraph.begin = noted
    if asks:
        PPOLearner._update = asking
    try:
        found = trained(config, "gpu", log)
    finally:
        PPOLearner._update, pretend_graphs.CUDAGraph.begin = update, begin
    return found, (len(graphs), sum(graph.replays for graph in graphs)), said


@pytest.mark.parametrize(
    ("algorithm", "changes", "reason"),
    [
        ("qmix", {}, "updates of learner=q_learner are not captured"),
        ("qmix", {"collection": "async"}, "collection=async draws random numbers"),
        ("ippo", {"learner_device": "cpu"}, "the learner is on cpu"),
    ],
)
def test_a_run_says_where_nothing_is_captured(algorithm, changes, reason):
    config = on_card(config_of(algorithm, **changes)) | {"cuda_graphs": "on"}
    _, graphs, said = on_gpu(_trained, config)
    assert graphs == (0, 0)
    assert [line for line in said if line.startswith(f"cuda_graphs=on has no effect: {reason}")]
