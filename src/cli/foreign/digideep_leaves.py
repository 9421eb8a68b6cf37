"""The leaves of Digideep's trees of parameters (commit e42f10a), and the panel keys that stand for them here."""

import re

PPO, DDPG, SAC, SAC2 = (f"digideep.agent.{name}.Agent" for name in ("ppo", "ddpg", "sac", "sacv2"))
# by the agent: the preset for vectors, and that for pictures
PRESETS = {
    PPO: ("digideep_ppo", "digideep_ppo_pictures"),
    DDPG: ("digideep_ddpg", "digideep_ddpg"),
    SAC: ("digideep_sac", "digideep_sac"),
    SAC2: ("digideep_sac_v2", "digideep_sac_v2"),
}
WRAPPERS = ("norm_wrappers", "vect_wrappers")
OFF_POLICY = {
    "agent.methodargs.n_update": "n_update",
    "agent.methodargs.gamma": "gamma",
    "agent.sampler_args.batch_size": "batch_size",
    "agent.sampler_args.observation_path": "observation_key",
    "agent.policyargs.hidden_size": "hidden_size",
    "agent.policyargs.average_args.polyak_factor": "polyak_factor",
    "agent.policyargs.average_args.interval": "target_update_interval",
    "agent.optimargs_actor.lr": "lr_actor",
}
# by the agent, and of all
PANEL = {
    "": {
        "env.name": "model_name",
        "env.from_module": "from_module",
        "env.from_params": "from_params",
        "runner.name": "runner_name",
        "runner.max_time": "max_exec_time",
        "runner.max_iter": "max_exec_iter",
        "runner.n_cycles": "epoch_size",
        "runner.n_epochs": "number_epochs",
        "runner.randargs.seed": "seed",
        "runner.randargs.cuda_deterministic": "cuda_deterministic",
        "runner.test_act": "test_activate",
        "runner.test_int": "test_interval",
        "runner.save_int": "save_interval",
        "agent.type": "agent_type",
        "agent.observation_path": "observation_key",
        "memory.train.args.chunk_sample_len": "n_steps",
        "memory.train.args.buffer_chunk_len": "memory_size_in_chunks",
        "memory.train.args.keep_old_checkpoints": "keep_old_checkpoints",
        "explorer.train.num_workers": "num_workers",
        "explorer.train.n_steps": "n_steps",
        "explorer.train.warm_start": "warm_start",
        "explorer.test.n_episodes": "test_win_size",
    },
    PPO: {
        "agent.methodargs.n_steps": "n_steps",
        "agent.methodargs.n_update": "n_update",
        "agent.methodargs.clip_param": "clip_param",
        "agent.methodargs.value_loss_coef": "value_loss_coef",
        "agent.methodargs.entropy_coef": "entropy_coef",
        "agent.methodargs.max_grad_norm": "max_grad_norm",
        "agent.methodargs.use_clipped_value_loss": "use_clipped_value_loss",
        "agent.sampler.num_mini_batches": "num_mini_batches",
        "agent.sampler.compute_advantages.gamma": "gamma",
        "agent.sampler.compute_advantages.tau": "tau",
        "agent.sampler.compute_advantages.use_gae": "use_gae",
        "agent.sampler.observation_path": "observation_key",
        "agent.policyargs.modelargs.recurrent": "recurrent",
        "agent.policyargs.modelargs.output_size": "actor_feature_size",
        "agent.optimargs.lr": "lr",
    },
    DDPG: {
        **OFF_POLICY,
        "agent.optimargs_critic.lr": "lr_critic",
        "agent.noiseargs.theta": "noise_theta",
        "agent.noiseargs.sigma": "noise_std",
    },
    SAC: {
        **OFF_POLICY,
        "agent.methodargs.mean_lambda": "mean_lambda",
        "agent.methodargs.std_lambda": "std_lambda",
        "agent.methodargs.z_lambda": "z_lambda",
        "agent.optimargs_value.lr": "lr_value",
        "agent.optimargs_softq.lr": "lr_softq",
    },
    SAC2: {
        **OFF_POLICY,
        "agent.methodargs.alpha": "alpha",
        "agent.methodargs.automatic_entropy_tuning": "automatic_entropy_tuning",
        "agent.optimargs_critic.lr": "lr_critic",
    },
}
# leaves that have one meaning here: their values, and what to do instead
ORNSTEIN, EGREEDY = (f"digideep.agent.noises.{name}Noise" for name in ("OrnsteinUhlenbeck", "EGreedy"))
NETWORKS = "networks of your own are registered in a plugin, docs/own_learner.md"
UNITS = "sample_transforms composes your own"
MEMORY = "buffer chooses the memory: transitions of replay, rollout of PPO"
FIXED = {
    "agent.sampler.truncate_datalists.n": ((1,), UNITS),
    "agent.sampler_list": ((["digideep.agent.ddpg.sampler.sampler_re"],), UNITS),
    "agent.policyname": (tuple(f"digideep.agent.{name}.Policy" for name in ("ppo", "ddpg", "sac", "sacv2")), NETWORKS),
    "agent.policyargs.modelname": (("digideep.model.models.MLPModel",), NETWORKS),
    "agent.policyargs.actor_args.eps": ((0.003,), "critic_last_range is that of the critic's last layer"),
    "agent.policyargs.critic_args.eps": ((0.003,), "critic_last_range is that of the critic's last layer"),
    "agent.policyargs.critic_args": (({},), NETWORKS),
    "agent.policyargs.actor_args.init_w": ((0.003,), NETWORKS),
    "agent.policyargs.value_args.init_w": ((0.003,), NETWORKS),
    "agent.policyargs.softq_args.init_w": ((0.003,), "critic_last_range is that of the critic's last layer"),
    "agent.policyargs.actor_args.log_std_min": ((-20,), NETWORKS),
    "agent.policyargs.actor_args.log_std_max": ((2,), NETWORKS),
    "agent.policyargs.epsilon": ((1e-6,), NETWORKS),
    "agent.policyargs.average_args.mode": (("soft", "hard"), "target_update_interval_or_tau has both kinds"),
    "agent.noisename": ((ORNSTEIN, EGREEDY), "noise is ou, gaussian, epsilon or none"),
    "memory.train.type": (tuple(f"digideep.memory.{kind}.Memory" for kind in ("rollbuffer", "ringbuffer")), MEMORY),
    "memory.train.args.overrun": ((1,), MEMORY),
    "explorer.train.do_reset": ((False,), "rollouts cross episodes"),
    "explorer.train.deterministic": ((False,), "training explores"),
    "explorer.train.n_episodes": ((None,), "rollouts end by steps; runner=episode plays whole episodes"),
    "explorer.test.deterministic": ((True,), "with test_greedy=False tests sample"),
    "explorer.test.warm_start": ((0,), "tests take no random actions"),
    "explorer.test.n_steps": ((None,), "tests play whole episodes"),
}
# names of parts, what reports and videos need, and what Digideep does not read either
IGNORED = [
    re.compile(pattern)
    for pattern in (
        r"env\.main_wrappers\..*",
        r"agent\.name",
        r"agent\.sampler(_args)?\.agent_name",
        r"agent\.policyargs\.(obs|act)_space\..*",
        r"agent\.methodargs\.clamp_return",
        r"agent\.noiseargs\.(mu|std|e|lim)",  # of which `digideep_trees` makes keys together
        r"memory\.train\.args\.name",
        r"explorer\.(train|test)\.(mode|final_action|win_size|render|render_delay|seed)",
        r"explorer\.test\.(do_reset|num_workers)",
        r"explorer\.eval\..*",
    )
]
OPTIMISERS = {"torch.optim.Adam": "adam", "torch.optim.RMSprop": "rmsprop"}
OPTIMISER_LEAVES = re.compile(r"agent\.optim(name(_\w+)?|args(_\w+)?\.(?P<key>\w+))")
