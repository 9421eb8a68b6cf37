"""`--help`: the whole command line in a screenful."""

HELP = """\
Muster: multi-agent reinforcement learning experiments

  python src/main.py --config=ALGORITHM --env-config=ENVIRONMENT
                     [COMMAND] [OPTIONS] [with KEY=VALUE ...]

Examples
  python src/main.py --config=qmix --env-config=two_step
  python src/main.py --config=qmix_fast --env-config=skirmish
                     with env_args.map_name=3m t_max=180000 seed=1
  python src/main.py print_config --config=coma --env-config=mpe with lr=0.001
  python src/main.py --resume=latest with t_max=1000000
  python src/main.py --evaluate=latest with test_nepisode=100

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
                       of a part (mixer=qmix); other packages' (environments)
  --help KEY           a key's meaning and values (docs/reference.md: all keys)
  Later ones win: config/default.yaml, the environment, the algorithm, with.

Commands (Sacred's; without one, the experiment runs)
  print_config         show the merged config; save_config: write it to a file
  print_dependencies   show the versions of the packages used

Options (Sacred's)
  -n, --name NAME      name the run in Sacred's record
  -c, --comment TEXT   add a comment to it
  -u, --unobserved     keep no record of the run
  -l, --loglevel LEVEL DEBUG to ERROR; -d, --debug: tracebacks; -h: this page

Other programs (each has --help)
  python src/suite.py run FILE many runs by one command
  python src/search.py         grids of values in EPyMARL's form
  python src/browse.py         open the runs in the web browser (make browse)
  python src/report.py         one HTML file of runs, and figures for papers
  python src/diagnose.py RUN   its times, monitored values and machine
  python src/watch.py RUN      play a run's best model and show it
  python src/play.py GAME      play an environment of entities yourself
  python src/clone.py FOLDER   a policy that does what a recording shows
  python src/replay.py FILE    a replay as GIF or MP4, a race's way as a track
  python src/convert.py FOLDER a model of the weights that Linesight saved

Results go to results/ (key local_results_path): runs/ (metric log,
checkpoints), sacred/, models/, replays/, tb_logs/.
"""
