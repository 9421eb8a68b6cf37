"""Parts of a batch on a GPU know in main memory where steps are: their batch is asked for it once."""

from types import SimpleNamespace

import pytest
import torch as th

from components.episode_batch import EpisodeBatch
from components.sampling.parts import cut_rows, with_fields
from components.sampling.windows import flatten
from gpu_runs import on_gpu
from utils.rl_utils import valid_transitions


@pytest.mark.slow
def test_what_parts_know_is_what_they_have_and_the_gpu_answers_once():
    answers, of_parts = on_gpu(_parts)
    assert answers == 1
    assert len(of_parts) == 4
    for known, fields in of_parts:
        assert {"filled", "mask", "terminated"} <= known.keys()
        assert all(th.equal(x, fields[key]) for key, x in known.items())


def _parts():
    import pretend_gpu

    batch = _rollout("cuda")
    assert batch.first_non_finite() is None
    mask = valid_transitions(batch)
    sample = with_fields(batch, ["obs", "terminated"], 6, {"mask": mask, "choices": mask.clone()})
    info = SimpleNamespace(known=lambda steps: {})
    parts = [sample, flatten(sample, info, counted=True), cut_rows(sample, info, 2, 1)]
    parts.append(parts[-1][th.tensor([4, 0])])
    courses = [part.course() for part in parts]
    answers = pretend_gpu.counts.answers()
    fields = [{key: x.cpu() for key, x in part.data.transition_data.items()} for part in parts]
    return answers, [(course.data.transition_data, of_part) for course, of_part in zip(courses, fields, strict=True)]


def _rollout(device):
    one = {"vshape": (1,), "dtype": th.uint8}
    batch = EpisodeBatch({"obs": {"vshape": 2}, "terminated": one, "truncated": one}, {}, 3, 7)
    generator = th.Generator().manual_seed(1)
    ends = (th.rand(3, 7, 1, generator=generator) < 0.2).to(th.uint8)
    ends[:, 1:] *= 1 - ends[:, :-1]
    batch.update({"obs": th.randn(3, 7, 2, generator=generator), "terminated": ends})
    batch.to(device)
    batch._course = None  # as if it had been played there
    return batch
