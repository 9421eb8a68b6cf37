"""Configs, parameter files and options of other trainers: Digideep, enn-trainer, Linesight, ML-Agents."""
