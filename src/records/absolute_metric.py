"""The names of the absolute metric's statistics (`experiment.absolute_metric`)."""

TEST, ABSOLUTE = "test_", "absolute_"
# after how many steps the model was saved that they are of
MODEL_STEP = "absolute_model_step"


def absolute_key(key: str) -> str:
    """The absolute metric of a test's statistic, `absolute_return_mean` of `test_return_mean`; "" of other ones."""
    return ABSOLUTE + key.removeprefix(TEST) if key.startswith(TEST) else ""
