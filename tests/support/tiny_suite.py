"""A suite of four short runs, and what became of each."""

from suites.state.state import SuiteFolder

TINY = """
algorithms: [qmix, vdn]
environments: two_step
seeds: 2
t_max: 20
settings: {test_nepisode: 4}
resources: {jobs: 2, cores: 0, gpus: 0}
"""


def attempts(tmp_path):
    return SuiteFolder(tmp_path / "results", "tiny").newest()
