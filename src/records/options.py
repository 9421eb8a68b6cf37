"""The config keys of the records of a run besides Sacred's files."""

from utils.config.options import FREE, SECONDS, SHARED, Option
from utils.config.reach import ADDRESS, NOWHERE, PROGRAM, Reach

OPTIONS = {
    "mongo_url": Option(
        SHARED,
        "record runs in MongoDB, too: mongodb://HOST:PORT/DATABASE (muster); with a password: $MUSTER_MONGO_URL",
        resume=FREE,
        reaches=ADDRESS,
    ),
    "on_end": Option(
        SHARED,
        "a command for the shell when the run ends, fails, is interrupted or stalls: $MUSTER_EVENT says which "
        "(docs/results.md)",
        resume=FREE,
        reaches=PROGRAM,
    ),
    "stall_minutes": Option(
        SHARED,
        "minutes without a rollout or an update after which on_end starts, too; 0: never",
        kind=float,
        at_least=0,
        at_most=SECONDS,
        resume=FREE,
    ),
    "timer": Option(
        SHARED,
        "time the parts of the loop: on, off, or cuda (wait for the GPU at each look at the clock)",
        choices=("on", "off", "cuda"),
        resume=FREE,
    ),
    "profile": Option(
        SHARED,
        "trace: record what torch computes in chosen rounds, for Perfetto and TensorBoard (docs/debugging.md); off: "
        "nothing",
        choices=("off", "trace"),
        resume=FREE,
    ),
    "trace_at": Option(
        SHARED,
        "profile=trace: environment steps; from each on, the next rounds are recorded",
        kind=list,
        resume=FREE,
        reaches=NOWHERE,
    ),
    "trace_rounds": Option(
        SHARED,
        "profile=trace: rounds, of a rollout and the updates after it, in each trace",
        at_least=1,
        at_most=100,
        resume=FREE,
    ),
    "histograms": Option(
        SHARED, "with each summary, keep how large the weights and gradients of all networks are", resume=FREE
    ),
    "machine_interval": Option(
        SHARED,
        "seconds between samples of processors, memory and graphics cards (needs requirements-machine.txt); 0: none",
        kind=float,
        at_least=0,
        at_most=SECONDS,
        resume=FREE,
    ),
    "use_tensorboard": Option(SHARED, "write TensorBoard logs under tb_logs/", resume=FREE),
    "use_wandb": Option(SHARED, "log statistics in Weights & Biases, too (needs requirements-wandb.txt)", resume=FREE),
    "wandb_mode": Option(
        SHARED,
        "offline (into files under wandb/, for `wandb sync`) or online",
        choices=("offline", "online"),
        resume=FREE,
        reaches=Reach(ADDRESS.what, lambda mode, beside: mode == "offline" or not beside.get("use_wandb")),
    ),
    "wandb_project": Option(
        SHARED, "project of Weights & Biases; null: muster", nullable=True, kind=str, resume=FREE, reaches=NOWHERE
    ),
    "wandb_team": Option(
        SHARED,
        "the team or user that owns the project; empty or null: the user who is logged in",
        nullable=True,
        kind=str,
        resume=FREE,
        reaches=NOWHERE,
    ),
    "wandb_save_model": Option(
        SHARED, "with use_wandb: keep the models that are saved among the files of the run there", resume=FREE
    ),
    "track_model": Option(
        SHARED, "with use_wandb or use_mlflow: at the end, keep the model that tested best there", resume=FREE
    ),
    "track_media": Option(
        SHARED,
        "with use_wandb or use_mlflow: at the end, keep replays (save_replay) as animations and a page of the run's "
        "figures there (needs requirements-browser.txt)",
        resume=FREE,
    ),
    "use_mlflow": Option(SHARED, "log statistics in MLflow, too (needs requirements-mlflow.txt)", resume=FREE),
    "mlflow_uri": Option(
        SHARED,
        "MLflow's tracking server or database; empty: files under mlflow/",
        resume=FREE,
        reaches=Reach(ADDRESS.what, lambda uri, beside: not beside.get("use_mlflow")),
    ),
    "mlflow_experiment": Option(
        SHARED, "MLflow's name of the experiment that the run belongs to", resume=FREE, reaches=NOWHERE
    ),
}
