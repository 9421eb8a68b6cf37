"""A run's files are for its user alone, under any umask of the shell, and stay within the results."""

import os
import stat

import pytest

from forked import start_forked

pytestmark = pytest.mark.slow


def _main_of_a_careless_shell(words, folder):
    from main import main

    os.chdir(folder)
    os.umask(0)
    raise SystemExit(main(words))


def test_everything_a_run_writes_is_private(tmp_path):
    settings = "t_max=60 seed=3 batch_size=4 buffer_size=8 checkpoint_interval=30".split()
    settings += "use_tensorboard=True save_model=True local_results_path=results".split()
    name = "../../out /" + "x" * 300
    words = ["--config=vdn", "--env-config=two_step", "with", *settings, f"name={name}"]
    process = start_forked(_main_of_a_careless_shell, words, tmp_path)
    process.join(120)
    assert process.exitcode == 0
    assert os.listdir(tmp_path) == ["results"]
    written = list((tmp_path / "results").rglob("*"))
    assert {path.name for path in (tmp_path / "results").iterdir()} == {"sacred", "runs", "tb_logs", "models"}
    assert len(written) > 10
    for path in (tmp_path / "results", *written):
        assert stat.S_IMODE(path.lstat().st_mode) & 0o077 == 0, path
    (run,) = (tmp_path / "results" / "runs").iterdir()
    assert run.name.startswith("out-xxx")
    assert len(run.name) <= 200
