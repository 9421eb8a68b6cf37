"""The nine scenarios of the multi-agent particle environments (Lowe et al. 2017; package mpe2): docs/particles.md."""
