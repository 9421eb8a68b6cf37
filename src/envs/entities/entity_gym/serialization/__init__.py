"""Recorded samples in entity-gym's files: `entity_gym.serialization`. Runs record by `experiment.recordings`."""

from envs.entities.entity_gym.serialization.sample_loader import Episode, MergedSamples, Trace
from envs.entities.entity_gym.serialization.sample_recorder import Sample, SampleRecorder, SampleRecordingVecEnv

__all__ = ["Episode", "MergedSamples", "Sample", "SampleRecorder", "SampleRecordingVecEnv", "Trace"]
