"""Runs that are ill on purpose and healthy ones, for doctor.py's rules: the table and pictures of docs/debugging.md.

python benchmarks/doctor.py make        # all runs, into results/doctor/ (half an hour on two cores); those there stay
python benchmarks/doctor.py keep        # what the rules read of them, into tests/support/doctor_runs.json.gz
python benchmarks/doctor.py table       # the table of hits and false alarms
python benchmarks/doctor.py draw        # the pictures in docs/debugging/
"""

import gzip
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
RESULTS, KEPT, PICTURES = "results/doctor", ROOT / "tests/support/doctor_runs.json.gz", ROOT / "docs/debugging"
ILL = "docs/examples/ill.py"
INTERVALS = "test_interval log_interval runner_log_interval learner_log_interval".split()
# name: (config, environment, steps, number of summaries, the rest, what is wrong)
RUNS = {
    "mappo_lr": ("mappo", "skirmish", 40_000, 8, "lr=0.3 critic_lr=0.3", "learning rate"),
    "qmix_lr": ("qmix_fast", "skirmish", 40_000, 8, "lr=0.5 epsilon_anneal_time=20000", "learning rate"),
    "ia2c_collapse": ("ia2c", "skirmish", 30_000, 10, "lr=0.01 critic_lr=0.01 entropy_coef=0.0", "entropy"),
    "vdn_detached": ("vdn", "two_step", 3_000, 10,
                     f'plugins=["{ILL}"] learner=detached epsilon_anneal_time=1500', "loss"),
    "ddpg_values": ("ddpg", "gymnasium", 2_500, 10, "env_args.key=Pendulum-v1 lr=0.01 critic_lr=0.05 gamma=0.999 "
                    "target_update_interval_or_tau=1.0", "no target network"),
    "qmix_values": ("qmix_fast", "skirmish", 20_000, 10, "gamma=1.0 double_q=False td_lambda=0.0 lr=0.02 "
                    "target_update_interval=1 epsilon_anneal_time=10000", "no target network"),
    "vdn_forced": ("vdn", "two_step", 4_000, 10, f'plugins=["{ILL}"] env=forced epsilon_anneal_time=2000 '
                   "test_nepisode=16", "one legal action"),
    "ppo_bounds": ("ppo", "gymnasium", 20_000, 10, f"env_args.key={ILL}:Metres env_args.time_limit=500 "
                   "normalise_observations=False", "wrong bounds"),
    "ippo_unscaled": ("ippo", "gymnasium", 20_000, 10, f"env_args.key={ILL}:Metres env_args.time_limit=500 "
                      "env_args.kwargs.announced=False", "no scaling"),
    "mappo_zero": ("mappo", "lbf", 40_000, 10, "env_args.key=Foraging-20x20-4p-1f-coop-v3 env_args.time_limit=10",
                   "rewards out of reach"),
    "ppo_limit": ("ppo", "gymnasium", 30_000, 10, "env_args.key=MountainCar-v0", "time limit"),
    "ippo_frozen": ("ippo", "skirmish", 40_000, 8, "lr=1e-9 critic_lr=1e-9 test_greedy=False", "nothing is learned"),
    "qmix_epsilon": ("qmix_fast", "skirmish", 30_000, 10, "epsilon_anneal_time=500000", "exploration"),
    "ippo_tests": ("ippo", "skirmish", 12_000, 12, "lr=1e-5 critic_lr=1e-5 test_greedy=False test_nepisode=1",
                   "one test episode"),
    "mappo": ("mappo", "skirmish", 60_000, 12, "", ""),
    "ippo": ("ippo", "skirmish", 60_000, 10, "env_args.map_name=2s3z", ""),
    "qmix_fast": ("qmix_fast", "skirmish", 60_000, 12, "", ""),
    "pqn_vdn": ("pqn_vdn", "skirmish", 80_000, 10, "epsilon_anneal_time=40000", ""),
    "mappo_spread": ("mappo", "particles", 60_000, 10, "", ""),
    "ia2c": ("ia2c", "lbf", 120_000, 10, "env_args.key=Foraging-5x5-2p-1f-v3", ""),
    "qmix": ("qmix", "two_step", 5_000, 10, "epsilon_anneal_time=2500", ""),
    "coma": ("coma", "two_step", 6_000, 10, "epsilon_anneal_time=3000", ""),
    "iql": ("iql", "matrix", 3_000, 10, "env_args.game=penalty epsilon_anneal_time=1500", ""),
    "ppo": ("ppo", "gymnasium", 40_000, 10, "", ""),
    "iqn": ("iqn", "gymnasium", 10_000, 10, "", ""),
    "c51": ("c51", "gymnasium", 10_000, 10, "", ""),
    "sac_discrete": ("sac_discrete", "gymnasium", 3_000, 10, "random_steps=500", ""),
    "td3": ("td3", "gymnasium", 4_000, 10, "env_args.key=Pendulum-v1", ""),
}  # fmt: skip


def command_of(name: str) -> list[str]:
    config, environment, steps, summaries, more, _ = RUNS[name]
    settings = [f"t_max={steps}", *(f"{key}={steps // summaries}" for key in INTERVALS), "seed=1", "use_cuda=False"]
    words = [f"--config={config}", f"--env-config={environment}", "with", *settings, *more.split()]
    return [sys.executable, "src/main.py", *words, f"run_name={name}", f"local_results_path={RESULTS}"]


def make() -> None:
    for name in RUNS:
        if not (ROOT / RESULTS / "runs" / name / "done.json").exists():
            print(name, flush=True)
            # some of the ill ones stop at a number that is not finite
            subprocess.run(command_of(name), cwd=ROOT, stdout=subprocess.DEVNULL)


def evidence(name: str):
    from records.find_run import find_run
    from records.symptoms.recorded import evidence_of

    return evidence_of(find_run(name, ROOT / RESULTS))


def keep() -> None:
    from records.symptoms.rules import RULES, findings_of

    read = {"learner", *(key for rule in RULES for key in rule.keys)}
    read |= set(
        "t_max batch_size_run test_nepisode random_steps epsilon_start epsilon_finish standardise_returns".split()
    )
    kept = {}
    for name in RUNS:
        seen = evidence(name)
        config = {key: value for key, value in seen.config.items() if key in read}
        kept[name] = {"config": config, "ended": seen.ended, "found": [one.rule for one in findings_of(seen)]}
        for kind, curves in (("curves", seen.curves), ("rollouts", seen.rollouts)):
            kept[name][kind] = {
                key: [[float(f"{x:.5g}") for x in column] for column in curve] for key, curve in curves.items()
            }
    with gzip.GzipFile(KEPT, "wb", mtime=0) as file:
        file.write(json.dumps(kept).encode())


def table() -> None:
    from records.symptoms.rules import RULES, findings_of

    titles = {rule.name: rule.title.lower() for rule in RULES}
    print("| run | on | settings | made ill by | doctor.py finds |\n|---|---|---|---|---|")
    for name, (_, environment, steps, _, more, ill) in RUNS.items():
        found = ", ".join(titles[one.rule] for one in findings_of(evidence(name))) or "nothing"
        settings = f"`{more}`, " if more else ""
        print(f"| {name} | {environment} | {settings}{steps:,} steps | {ill or '–'} | {found} |")


def draw() -> None:
    from matplotlib.figure import Figure

    PICTURES.mkdir(exist_ok=True)
    pairs = (
        ("approx_kl", "mappo", "mappo_lr", "log"),
        ("entropy", "mappo", "mappo_lr", "linear"),
        ("td_error_abs", "qmix_fast", "qmix_lr", "log"),
        ("epsilon", "qmix_fast", "qmix_epsilon", "linear"),
        ("test_return_mean", "mappo", "ippo_frozen", "linear"),
        ("q_taken_mean", "qmix_fast", "qmix_values", "log"),
    )
    figure = Figure(figsize=(8.4, 4.6), layout="constrained")
    for axes, (key, well, ill, scale) in zip(figure.subplots(2, 3).flat, pairs, strict=True):
        for name, color in ((well, "#1b7f5c"), (ill, "#c0392b")):
            curve = evidence(name).curve(key)
            axes.plot(
                curve.t / 1000, curve.value.clip(1e-12) if scale == "log" else curve.value, color=color, label=name
            )
        axes.set(title=key, yscale=scale)
        axes.legend(fontsize=7, frameon=False)
    figure.supxlabel("thousand environment steps", fontsize=9)
    figure.savefig(PICTURES / "healthy_and_ill.png", dpi=90)

    healthy = [name for name, run in RUNS.items() if not run[-1]]
    figure = Figure(figsize=(8.4, 7.2), layout="constrained")
    for axes, name in zip(figure.subplots(4, -(-len(healthy) // 4)).flat, [*healthy, ""][: len(healthy)], strict=False):
        seen = evidence(name)
        for key, color in (("return_mean", "#9aa5b1"), ("test_return_mean", "#1f4e9c")):
            curve = seen.curve(key)
            axes.plot(curve.t / 1000, curve.value, color=color, linewidth=1.4)
        axes.set_title(f"{name} ({RUNS[name][1]})", fontsize=8)
        axes.tick_params(labelsize=7)
    figure.supxlabel("thousand environment steps; grey: return of training, blue: of tests", fontsize=9)
    figure.savefig(PICTURES / "reference_curves.png", dpi=80)


if __name__ == "__main__":
    {"make": make, "keep": keep, "table": table, "draw": draw}[sys.argv[1]]()
