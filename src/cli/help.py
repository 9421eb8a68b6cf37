"""`--help`: the whole command line in a screenful."""

from cli.verbs import verb_lines
from utils.own_commands import as_typed, by_verbs

_PAGE = """\
Muster: multi-agent reinforcement learning experiments

  python src/main.py --config=ALGORITHM --env-config=ENVIRONMENT
{below}[COMMAND] [OPTIONS] [with KEY=VALUE ...]

Examples
  python src/main.py --config=qmix --env-config=two_step
  python src/main.py --config=qmix_fast --env-config=skirmish
{below}with env_args.map_name=3m t_max=180000 seed=1
  python src/main.py --resume=latest with t_max=1000000

Experiment
  --config=NAME        algorithm: config/algs/NAME.yaml or .py, or your file
  --env-config=NAME    environment: config/envs/NAME.yaml, or a path
  with KEY=VALUE ...   last: changes any key, nested ones as env_args.key=VALUE
  --cpanel '{"lr": 1}' as with cpanel.lr=1: the panel of a parameter file (.py)
  --resume=RUN         resume a run that was interrupted or killed: its Sacred
                       id, its token, its folder, or "latest"
  --evaluate=RUN       play test episodes with a run's best model, or the one
                       that load_step picks, and write episodes.csv
  --model=newest       with --evaluate: the newest model, not the best
  --export=RUN         its policy as an ONNX file for Unity: docs/dots_builds.md
  --custom=M:F         with --evaluate: call M's function F on the loaded run
  --dry-run, --validate  run, or try everything out; keep nothing
  --list [NAME]        names of all algorithms, environments and parts; maps of
                       an environment (skirmish); one kind (learner); the keys
                       of a part (env=racing); algorithms; environments (also
                       other packages')
  --help KEY           meaning of a key or statistic (all: docs/reference.md)
  Later ones win: config/default.yaml, the environment, the algorithm, with.

Sacred's commands (without one, the experiment runs) and options
  print_config         the merged config; save_config: into a file
  -n, --name NAME      of the run in Sacred's record; -c, --comment TEXT: on it
  -u, --unobserved     keep no record of the run
  -l, --loglevel LEVEL DEBUG to ERROR; -d, --debug: tracebacks; -h: this page

{heading} (each has --help)
{verbs}
Results go to results/ (key local_results_path): runs/ (metric log,
checkpoints), sacred/, models/, replays/, tb_logs/.
"""


def page() -> str:
    """The page, with the verbs of the command `muster` or the other programs of `src/`."""
    text = _PAGE.replace("{verbs}", verb_lines(by_verbs()))
    text = text.replace("{heading}", "Verbs, which come first" if by_verbs() else "Other programs")
    return text.replace("{below}", " " * len(f"  {as_typed('python src/main.py')} "))
