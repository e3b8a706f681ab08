"""Analyses of the channels of int8 tensors, and the removal of dead channels.

A forward analysis (`value_analysis`) finds the value range of every channel, and gives equal channels equal value
numbers. A backward analysis (`liveness`) finds the channels on which some output depends. `shrink` removes the dead
channels. Each op has a rule: `contract` defines rules, `weighted`, `channelwise` and `moves` hold them, `registry`
finds the rule of a node.

A channel is an index on the last axis. The analyses look at int8 tensors only. A node without a rule is a barrier: all
channels of its operands and results are live, and the values of its results are unknown.
"""
