"""Captured graphs, on the pretend GPU (tests/support/pretend_graphs.py)."""

import pytest

from gpu_runs import on_gpu

pytestmark = pytest.mark.slow


def test_the_stand_in_repeats_operations_on_the_memory_that_was_captured():
    found = on_gpu(_repeated)
    assert found == {
        "while capturing": [1.0, 1.0],  # nothing was computed
        "before the first replay": True,
        "replays": [3.0, 7.0],
        "of an exchanged tensor": [11.0, 11.0],  # not seen
        "of memory that was given back": True,
        "draws": True,
    }


def _repeated():
    import torch as th

    found = {}
    weight, given = th.ones(2, device="cuda"), th.ones(2, device="cuda")
    graph = th.cuda.CUDAGraph()
    with th.cuda.graph(graph):
        weight.add_(given)
        out = (weight * 1).sum() / 2
    found["while capturing"] = weight.cpu().tolist()
    found["before the first replay"] = bool(out.isnan())
    replays = []
    for number in (2.0, 4.0):
        given.fill_(number)
        graph.replay()
        replays.append(out.item())
    found["replays"] = replays
    kept, weight = weight, th.zeros(2, device="cuda")
    graph.replay()
    found["of an exchanged tensor"] = kept.cpu().tolist()
    del kept
    try:
        graph.replay()
    except RuntimeError as error:
        found["of memory that was given back"] = "given back" in str(error)
    th.manual_seed(3)
    plain = [th.rand(2, device="cuda").cpu().tolist() for _ in range(3)]
    th.manual_seed(3)
    graph = th.cuda.CUDAGraph()
    with th.cuda.graph(graph):
        drawn = th.rand(2, device="cuda")
    found["draws"] = plain == [(graph.replay(), drawn.cpu().tolist())[1] for _ in range(3)]
    return found


def test_the_stand_in_refuses_what_a_capture_refuses():
    refused = on_gpu(_refused)
    assert refused.pop("arithmetic") == ""
    assert refused.pop("a registered generator") == ""
    assert [name for name, said in refused.items() if "not permitted" not in said and "capturable" not in said] == []


def _refused():
    import torch as th

    there, here = th.arange(4.0, device="cuda"), th.arange(4)
    mask, own = there > 1, th.Generator()
    weight = th.nn.Parameter(th.ones(2, device="cuda"))
    optimiser = th.optim.Adam([weight], fused=True)
    weight.grad = th.ones(2, device="cuda")
    optimiser.step()
    refused = {}
    for name, function in {
        "arithmetic": lambda: there + 1,
        "a registered generator": lambda: there.normal_(generator=own),
        "another generator": lambda: there.normal_(generator=th.Generator()),
        "to": lambda: here.to("cuda", non_blocking=True),
        "made there": lambda: th.tensor([1.0], device="cuda"),
        "cpu": there.cpu,
        "copy": lambda: here.copy_(there),
        "item": there[0].item,
        "bool": lambda: bool(mask[0]),
        "nonzero": mask.nonzero,
        "masked_select": lambda: there.masked_select(mask),
        "mask as index": lambda: there[mask],
        "list as index": lambda: there[[0, 1]],
        "synchronise": th.cuda.synchronize,
        "another stream": lambda: th.cuda.Stream().wait_stream(th.cuda.current_stream()),
        "an optimiser that is not capturable": optimiser.step,
    }.items():
        graph = th.cuda.CUDAGraph()
        graph.register_generator_state(own)
        try:
            with th.cuda.graph(graph):
                function()
            refused[name] = ""
        except RuntimeError as error:
            refused[name] = str(error)
    return refused


def test_each_call_is_done_once_and_a_graph_is_made_again_where_memory_has_changed():
    found = on_gpu(_called)
    # the sums of what was given, times the number, whichever way they came about
    assert found["sums"] == [1.0, 3.0, 7.0, 15.0, 31.0, 63.0]
    assert found["python"] == 4  # three calls and the capture
    assert found["outputs stay"] == [15.0, 31.0, 63.0]
    assert found["after a change"] == [5.0, 6.0, 7.0, 8.0, 9.0]
    assert found["python afterwards"] == 8
    assert found["said"] == []


def _called():
    import torch as th

    from utils.tensors.captured import Captured

    said, calls, found = [], [], {}
    state = {"sum": th.zeros(3, device="cuda")}
    console = type("Console", (), {"warning": lambda self, text: said.append(text)})()
    captured = Captured("Sums", "cuda", lambda: state.values(), console)

    def add(tensors, numbers):
        calls.append(1)
        state["sum"].add_(tensors[0] * numbers[0])
        return {"sum": state["sum"].mean()}

    found["sums"], outputs = [], []
    for number in range(6):
        outputs.append(captured(add, [th.ones(3, device="cuda")], [2.0**number])["sum"])
        found["sums"].append(state["sum"][0].item())
    found["outputs stay"], found["python"] = [x.item() for x in outputs[3:]], len(calls)
    state["sum"] = th.full((3,), 4.0, device="cuda")
    found["after a change"] = []
    for _ in range(5):
        found["after a change"].append(captured(add, [th.ones(3, device="cuda")], [1.0])["sum"].item())
    found["python afterwards"], found["said"] = len(calls), said
    return found


def test_what_cannot_be_captured_is_said_once_and_not_tried_again():
    said, results = on_gpu(_failing)
    assert results == [2.0, 2.0, 2.0, None, None]
    assert said == [
        "Sums could not be captured as a graph of the GPU, and continue as single operations (cuda_graphs=on has no "
        "effect on them): operation not permitted when stream is capturing: item"
    ]


def _failing():
    import torch as th

    from utils.tensors.captured import Captured

    said = []
    console = type("Console", (), {"warning": lambda self, text: said.append(text)})()
    captured = Captured("Sums", "cuda", list, console)

    def asks(tensors, numbers):
        return tensors[0] * 2 if tensors[0][0].item() else tensors[0]

    results = [captured(asks, [th.ones(1, device="cuda")]) for _ in range(5)]
    return said, [None if x is None else x.item() for x in results]
