"""What the arguments of `env=pettingzoo` may do beyond the results of a run."""

from envs.contract.reaches import OF_ALL, importing, nowhere

REACHES = {**OF_ALL, **importing("key"), **nowhere("time_limit reward groups state")}
