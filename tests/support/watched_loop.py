"""The loop of a run, watched: it calls a test's function whenever it has gathered and learned."""

from experiment.loop import TrainingLoop


def watched(monkeypatch, notice):
    original = TrainingLoop._gather_and_learn

    def gather(loop):
        original(loop)
        notice(loop)

    monkeypatch.setattr(TrainingLoop, "_gather_and_learn", gather)
