"""The error catalogue: everything an experiment is refused for, before anything starts or is written."""

import sys

import pytest

from refusals import case, refused

pytestmark = pytest.mark.slow

QMIX = ["--config=qmix", "--env-config=two_step"]
COMA = ["--config=coma", "--env-config=two_step"]
MATRIX = ["--config=vdn", "--env-config=matrix"]


def changed(*settings, base=QMIX):
    return [*base, "with", *settings]


CATALOGUE = [
    # files and options
    case(["--config=qmxi", "--env-config=two_step"], "=qmxi", "Did you mean 'qmix'?", "--list algorithms shows all"),
    case(["--config=qmix", "--env-config=two_stpe"], "--env-config=two_stpe", "Did you mean 'two_step'?", "lbf"),
    case(["--config=none.yaml", "--env-config=two_step"], "no config file none.yaml"),
    case(["--config=../envs/sc2", "--env-config=two_step"], "--config=../envs/sc2"),
    case(["--env-config=two_step"], "--config is missing", "qmix"),
    case(["--config=qmix"], "--env-config is missing", "two_step"),
    case(["--config", "--env-config=two_step"], "--config needs a name"),
    case([*QMIX, "--config=vdn"], "--config is given twice"),
    # registry names
    case(changed("env=two_stp"), "env=two_stp", "Did you mean 'two_step'?", "matrix"),
    case(changed("runner=paralel"), "runner=paralel", "Did you mean 'parallel'?", "episode"),
    case(changed("env_transport=shared"), "env_transport=shared", "Did you mean 'shared_memory'?", "pipe"),
    case(changed("mac=basic_mc"), "mac=basic_mc", "Did you mean 'basic_mac'?"),
    case(changed("agent=rn"), "agent=rn", "Did you mean 'rnn'?", "ff"),
    case(changed("action_selector=epsilon"), "action_selector=epsilon", "Did you mean 'epsilon_greedy'?"),
    case(changed("learner=qlearner"), "learner=qlearner", "Did you mean 'q_learner'?"),
    case(changed("mixer=qmx"), "mixer=qmx", "Did you mean 'qmix'?", "vdn"),
    case(changed("critic=cmoa", base=COMA), "critic=cmoa", "Did you mean 'coma'?"),
    # keys, at any depth
    case(changed("gama=0.9"), "Unknown key 'gama'", "Did you mean 'gamma'?"),
    case(changed("nothing_like_it=1"), "Unknown key 'nothing_like_it'", "docs/reference.md"),
    case(changed("env_args.sed=1"), "env_args.sed", "Did you mean 'seed'?"),
    case(changed("env_args.gme=penalty", base=MATRIX), "env_args.gme", "Did you mean 'game'?", "payoff"),
    case(changed("lr.x=3"), "lr"),
    # types
    case(changed("lr=fast"), "lr=fast", "expected a number", "'fast'"),
    case(changed("t_max=abc"), "t_max=abc", "a whole number"),
    case(changed("t_max=10.5"), "t_max=10.5", "a whole number"),
    case(changed("double_q=3"), "double_q=3", "True or False"),
    case(changed("save_model=yes"), "save_model=yes", "True or False"),
    case(changed("env_args=5"), "env_args", "mapping"),
    case(changed("gamma=None"), "gamma=None", "expected a number", "null"),
    case(changed("lr=nan"), "lr=nan", "a number"),
    case(changed("plugins=5"), "plugins"),
    case(changed("seed=one"), "seed=one", "a whole number"),
    case(changed("env_args.episode_limit=many", base=MATRIX), "env_args.episode_limit=many", "a number"),
    # what could run code, write elsewhere or speak to the terminal
    case(changed("label={'py/reduce': [{'py/function': 'os.system'}, {'py/tuple': ['touch ran']}]}"), "'py/'", id="py"),
    case(changed("lr=__import__('os').system('touch ran')"), "expected a number", id="import"),
    case(changed("x.pickle"), "'x.pickle' after 'with' is not a setting of the form KEY=VALUE"),
    case(changed("lr=b'x'"), "is a bytes"),
    case(changed("label={1, 2}"), "is a set"),
    case(changed("label={[]: 1}"), "is not a valid value"),
    case(changed("=3"), "is empty"),
    case(changed("a..b=3"), "is empty"),
    case(changed("env_args=3", "env_args.seed=1"), "contradicts an earlier setting: env_args=3"),
    case(changed(f"t_max={10**400}"), "more than 64 bits", id="t_max=10^400"),
    case(changed(f"lr={'x' * 5000}"), "expected a number", id="lr=xxx..."),
    case(changed("seed=4294967296"), "at most 4294967295"),
    case(changed("lr=\x1b[31mred"), "'\\x1b[31mred'", id="escape sequence"),
    case(changed("name=two\nlines"), "name='two\\nlines'", "it contains unprintable characters", id="two lines"),
    case(changed("checkpoint_path=" + "x" * 5000), "no such folder", id="long path"),
    case(["--config=" + "x" * 5000, *QMIX[1:]], "there is no config/algs", id="long name"),
    case(["--config=a\x1b[31m\nb", *QMIX[1:]], "'a\\x1b[31m\\nb'", id="escape in a config's name"),
    case([*QMIX, "-b", "often"], "-b often", "a number of seconds"),
    case([*QMIX, "-P", "x"], "-P x", "a number"),
    case([*QMIX, "--capture=x"], "--capture x", "sys"),
    case(["--resume=../../etc"], "../../etc"),
    case(["--resume=latest"], "results has no run that trained"),
    case(["--resume=../.."], "is not the folder of a run"),
    case(["--resume=7"], "There is no run '7' in results"),
    case(["--evaluate=7"], "There is no run '7' in results"),
    case(["--resume"], "--resume needs a name"),
    case(["--evaluate"], "--evaluate needs a name"),
    case(["--resume=latest", "--config=vdn"], "--config does not go with --resume"),
    case(["--evaluate=1", "--config=vdn"], "--config does not go with --evaluate"),
    case(["--evaluate=1", "--resume=1"], "--evaluate does not go with --resume"),
    case(["--evaluate=latest", "--model=newset"], "Did you mean 'newest'?"),
    case(["--model=newest", *QMIX], "--model needs --evaluate=RUN"),
    case(["--custom=x:y", *QMIX], "--custom needs --evaluate=RUN"),
    case(["--dry-run", "--resume=latest"], "--dry-run is of new runs"),
    case(["--dry-run", *changed("local_results_path=x")], "leave local_results_path out"),
    case(["--dry-run=yes", *QMIX], "--dry-run takes no value"),
    case(["--dry-runn", *QMIX], "Did you mean '--dry-run'?"),
    case([*QMIX, "--id", "../up"], "--id=../up: it names a folder"),
    case(["--resume=" + "x" * 5000], "There is no run", id="long run"),
    # ranges and choices
    case(changed("t_max=0"), "t_max=0", "at least 1"),
    case(changed("envs_per_worker=0"), "envs_per_worker=0", "at least 1"),
    case(changed("gamma=1.5"), "gamma=1.5", "between 0 and 1"),
    case(changed("lr=0"), "lr=0", "above 0"),
    case(changed("seed=-1"), "seed=-1", "0 or more"),
    case(changed("test_interval=0"), "test_interval=0", "at least 1"),
    case(changed("optimizer=adamw"), "optimizer=adamw", "Did you mean 'adam'?", "rmsprop"),
    case(changed("buffer_dtype=float61"), "buffer_dtype=float61", "Did you mean 'float16'?", "float32"),
    case(changed("hypernet_layers=3"), "hypernet_layers=3", "1, 2"),
    case(changed("qtran_arch=paper"), "qtran_arch=paper", "Did you mean 'qtran_paper'?"),
    case(changed("env_args.game=climb", base=MATRIX), "env_args.game is 'climb'", "Did you mean 'climbing'?"),
    case(changed("env_args.payoff=[[1,2],[3]]", base=MATRIX), "env_args.payoff"),
    case(changed("env_args.key=Foraging-8x8-2p-2f-cop-v3", base=["--config=vdn", "--env-config=lbf"]),
         "no task 'Foraging-8x8-2p-2f-cop-v3'", "Did you mean 'Foraging-8x8-2p-2f-coop-v3'?"),
    case(changed("env_args.key=mpe2.simple_spred_v3", base=["--config=vdn", "--env-config=mpe"]),
         "no module 'mpe2.simple_spred_v3'", "Did you mean 'mpe2.simple_spread_v3'?"),
    case(changed("env_args.kwargs.M=4", base=["--config=vdn", "--env-config=mpe"]), "takes no 'M'", "max_cycles"),
    # sizes and counts beyond memory or sense
    case(changed("rnn_hidden_dim=1e8"), "rnn_hidden_dim=100000000", "at most 1048576"),
    case(changed("mixing_embed_dim=9e11"), "mixing_embed_dim=900000000000", "at most"),
    case(changed("worker_timeout=1e300"), "worker_timeout", "at most 1000000"),
    case(changed("batch_size_run=10**9"), "expected a whole number", id="not computed"),
    case(changed("batch_size_run=1000000000", "buffer_size=1000000000"), "batch_size_run=1000000000", "at most 65536"),
    case(changed("env_args.episode_limit=1000000000000", base=MATRIX), "env_args.episode_limit", "at most 1000000"),
    case(changed("env_args.step_mul=1000000000000", base=["--config=vdn", "--env-config=skirmish"]), "step_mul"),
    case(changed("env_args.step_mul=100000", base=["--config=vdn", "--env-config=skirmish"]), "number from 1 to 1000"),
    case(changed("env_args.kwargs.N=-3", base=["--config=vdn", "--env-config=mpe"]), "made with N=-3: "),
    case(changed("env_args.kwargs.N=100000", base=["--config=vdn", "--env-config=mpe"]), "kwargs.N=100000", "1000"),
    # places and options
    case(changed("local_results_path=" + "x" * 300), "too long", "255 bytes", id="long results path"),
    case(changed("local_results_path="), "local_results_path is empty"),
    case([*QMIX, "-t", "x"], "'tinydb', which is not installed", "pip install tinydb"),
    case([*QMIX, "-s", "sqlite://"], "'sqlalchemy', which is not installed"),
    case([*QMIX, "-m", "localhost:1:runs"], "no server answers at localhost:1"),
    case([*QMIX, "-m", "a b:c"], "HOST:PORT:DATABASE"),
    # combinations
    case(changed("batch_size=64", "buffer_size=32"), "batch_size=64", "buffer_size=32"),
    case(changed("batch_size_run=64", "buffer_size=32", base=["--config=qmix_beta", "--env-config=two_step"]),
         "batch_size_run=64", "buffer_size=32"),
    case(changed("batch_size_run=4"), "runner=episode", "batch_size_run=4", "runner=parallel"),
    case(changed("mixer=qmix", base=COMA), "mixer=qmix", "learner=coma_learner", "use mixer=null"),
    case(changed("mixer=None", base=["--config=qtran", "--env-config=two_step"]), "mixer=null", "qtran_base"),
    case(changed("mixer=null", base=["--config=qtran", "--env-config=two_step"]), "mixer=null", "qtran_base"),
    case(changed("runner=collectors", base=COMA), "collection=collectors does not go with learner=coma", "newest"),
    case(changed("runner=collectors", "overlap=True"), "runner=collectors and overlap=True both say"),
    case(changed("runner=collectors", "collection=async"), "runner=collectors and collection=async both say"),
    case(changed("runner=collectors", "collectors.runner=rolout"), "collectors.runner=rolout", "'rollout'"),
    case(changed("runner=colectors"), "runner=colectors", "Did you mean 'collectors'?"),
    case(changed("buffer_size=16", base=COMA), "learner=coma_learner", "buffer_size=16 above batch_size=8"),
    case(changed("mixer=qtran_base"), "mixer=qtran_base", "learner=q_learner", "null or vdn, qmix"),
    case(changed("agent_output_type=pi_logits"), "agent_output_type=pi_logits", "learner=q_learner", "'q'"),
    case(changed("action_selector=multinomial"), "action_selector=multinomial", "epsilon_greedy"),
    case(changed("load_step=100"), "load_step=100", "checkpoint_path"),
    case(changed("evaluate=True"), "evaluate=True", "checkpoint_path"),
    case(changed("checkpoint_path=nowhere"), "checkpoint_path=nowhere", "no such folder", "agent.th"),
    case(changed("checkpoint_path=."), "holds no checkpoint", "20000/ with agent.th"),
    # plugins
    case(changed("plugins=['none.py']"), "no file", "none.py"),
    case(changed("plugins=['no.such.module']"), "no.such.module"),
    # packages that are not here
    case(["--config=qmix_smac", "--env-config=sc2"], "smac is not installed", "unrelated optimiser"),
    case(["print_config", "--config=qmix_smac", "--env-config=sc2_beta"], "smac is not installed", "=skirmish"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "expected"), CATALOGUE)
def test_refusals(words, expected, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)  # comes with Optuna
    message = refused(words, capsys, tmp_path)
    for part in expected:
        assert part in message
    assert len(message.replace(str(tmp_path), "")) < 900, "a message, not a page"


FILES = {
    "tab.yaml": ("name: x\n\tlr: 1\n", ["tab.yaml, line 2, column 1", "invalid YAML"]),
    "typo.yaml": ("name: x\ngama: 0.9\n", ["typo.yaml", "'gama'", "Did you mean 'gamma'?"]),
    "type.yaml": ("lr: fast\n", ["lr=fast", "a number"]),
    "env_args.yaml": ("env_args: 3\n", ["env_args.yaml", "'env_args' must be a mapping"]),
    "argument.yaml": ("env_args:\n  sedd: 3\n", ["env_args.sedd", "Did you mean 'seed'?"]),
}


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("option", ["--config", "--env-config"])
def test_a_users_own_config_files(name, option, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, expected = FILES[name]
    (tmp_path / name).write_text(text)
    other = "--env-config=two_step" if option == "--config" else "--config=vdn"
    message = refused([f"{option}={name}", other], capsys, tmp_path)
    for part in expected:
        assert part in message


def test_a_plugin_that_fails_is_reported_with_its_line(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("x = 1\n\nraise RuntimeError('no map')\n")
    message = refused(changed("plugins=['broken.py']"), capsys, tmp_path)
    assert "'broken.py' failed at line 3: RuntimeError: no map" in message
    (tmp_path / "syntax.py").write_text("x = 1\ny = = 2\n")
    assert "'syntax.py' failed at line 2: SyntaxError" in refused(changed("plugins=['syntax.py']"), capsys, tmp_path)


def test_a_plugin_that_ends_the_program_is_reported(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leaving.py").write_text("import sys\n\nsys.exit(3)\n")
    assert "'leaving.py' failed at line 3: it calls sys.exit(3)" in refused(
        changed("plugins=['leaving.py']"), capsys, tmp_path
    )


def test_a_checkpoint_path_one_folder_too_deep(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    step = tmp_path / "models" / "400"
    step.mkdir(parents=True)
    (step / "agent.th").write_bytes(b"")
    message = refused(changed("checkpoint_path=models/400"), capsys, tmp_path)
    assert "checkpoint_path=models load_step=400" in message


def test_python_callers_get_the_same_refusals(tmp_path, monkeypatch):
    from run import run
    from utils.errors import ConfigError

    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"Unknown key 'gama'.*Did you mean 'gamma'"):
        run({"gama": 0.9})
    with pytest.raises(ConfigError, match="batch_size=64 is larger than buffer_size=32"):
        run({"batch_size": 64})
