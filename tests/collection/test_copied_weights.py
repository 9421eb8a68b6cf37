"""Acting on another device than the learner's: how often weights are copied, and in how many copies."""

from types import SimpleNamespace

import pytest
import torch as th

from collection.synchronous import SyncCollection
from experiment.shared_updates import Alone
from experiment.state import LoopState
from experiment.updates import Updates
from fakes import RecordingLogger
from gpu_runs import config_of, on_gpu

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("algorithm", ["qmix", "ippo"])
def test_all_weights_come_in_one_copy_and_only_when_they_have_changed(algorithm):
    config = config_of(algorithm, **({"normalise_observations": True} if algorithm == "ippo" else {}))
    copies, equal = on_gpu(_copies, config)
    assert copies == {"first": 1, "unchanged": 0, "updated": 1, "in place": 1, "acting's own": 1, "loaded": 1}
    assert equal


def _copies(config):
    import pretend_gpu
    from checks import check_config
    from experiment.assembly import assemble

    config = check_config(config)
    config["env_args"]["seed"] = 1
    parts = assemble(SimpleNamespace(**config, device="cuda", unique_token="token"), RecordingLogger())
    mac, copied, acting, found = parts.mac, parts.acting_mac, parts.collection, {}

    def count(what):
        pretend_gpu.counts.clear()
        acting._update_weights()
        found[what] = pretend_gpu.counts.waits()

    def fill(of, value):
        with th.no_grad():
            next(of.parameters()).fill_(value)

    try:
        count("first")
        count("unchanged")
        acting.weights_changed = True
        count("updated")
        fill(mac, 2.0)
        count("in place")
        fill(copied, 3.0)
        count("acting's own")
        acting.load_state_dict(acting.state_dict())
        count("loaded")
        pairs = zip(_states(copied), _states(mac), strict=True)
        equal = all(not x.is_cuda and y.is_cuda and th.equal(x, y.cpu()) for x, y in pairs)
        return found, equal and bool((next(copied.parameters()) == 2).all())
    finally:
        parts.runner.close_env()


def _states(mac):
    networks = [mac.agent, *([mac.normalisers] if mac.normalisers else [])]
    return [value for network in networks for value in network.state_dict().values()]


def test_controllers_that_are_no_networks_are_always_asked():
    """Nothing is known of a user's own, so it may have changed."""
    loads = []
    acting = SyncCollection(
        SimpleNamespace(t_env=0), object(), SimpleNamespace(load_state=loads.append), RecordingLogger()
    )
    acting._update_weights()
    acting._update_weights()
    assert len(loads) == 2


def test_an_update_tells_acting_that_weights_have_changed():
    """Whatever torch's counts say: fused optimisers leave them as they are."""
    updates = Updates.__new__(Updates)
    collection, diagnostics = SimpleNamespace(weights_changed=False), SimpleNamespace()
    updates.parts = SimpleNamespace(loop=LoopState(), collection=collection, diagnostics=diagnostics, callbacks=None)
    updates.logger, updates._learners = SimpleNamespace(moved=lambda: None), Alone()
    learner = SimpleNamespace(train=lambda *_: None, skipped_updates=0)
    updates._update(SimpleNamespace(learner=learner), SimpleNamespace(scheme={}), 0)
    assert collection.weights_changed and updates.parts.loop.updates == 1
