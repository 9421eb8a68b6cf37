"""Why a run does not learn: rules over its metrics and config, for doctor.py, the page and the running loop."""
