"""The view of hyperparameters against results."""
