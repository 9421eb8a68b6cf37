"""`--help`: the whole command line in a screenful."""

HELP = """\
Muster: multi-agent reinforcement learning experiments

  python src/main.py --config=ALGORITHM --env-config=ENVIRONMENT [COMMAND] [OPTIONS] [with KEY=VALUE ...]

Examples
  python src/main.py --config=qmix --env-config=two_step
  python src/main.py --config=vdn --env-config=lbf with env_args.key=Foraging-5x5-2p-1f-v3 t_max=500000 seed=1
  python src/main.py print_config --config=coma --env-config=mpe with runner=parallel lr=0.001

  python src/main.py --resume=latest with t_max=1000000

What is run
  --config=NAME        algorithm: config/algs/NAME.yaml, or the path of a YAML file of your own
  --env-config=NAME    environment: config/envs/NAME.yaml, or a path
  with KEY=VALUE ...   changes any key, nested ones as env_args.key=VALUE; comes last
  --resume=RUN         go on with a run that was interrupted or killed: its Sacred id, its folder, or "latest"
  --list               the names of all algorithms, environments and parts
  Later ones win: config/default.yaml (which explains every key), the environment, the algorithm, with.

Commands (Sacred's; without one, the experiment runs)
  print_config         show the merged config, changes marked, and stop
  save_config          write it to a file
  print_dependencies   show the versions of the packages used

Options (Sacred's)
  -n, --name NAME      name the run in Sacred's record
  -c, --comment TEXT   add a comment to it
  -u, --unobserved     keep no record of the run
  -l, --loglevel LEVEL DEBUG, INFO, WARNING, ERROR
  -d, --debug          full tracebacks
  -h, --help           this page

Results go to results/ (key local_results_path): sacred/, models/, tb_logs/, replays/.
"""
