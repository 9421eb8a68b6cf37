"""The contract of an environment. `envs.multiagentenv` has PyMARL's methods, `fields` those of any other environment.

fields: what an environment shows, takes and returns in each step, declared once; declarations: checks of that.
groups: several groups of agents, and agents that are streams. spaces, legal_actions: Gymnasium's words for all this.
validation: checks of what steps return; infos: what their infos mean here. seeds, saving: of random numbers and states.
arguments, optional, reaches: an environment's arguments, the packages that it needs, and what it may do elsewhere.
"""
