"""What the channels of int8 tensors can be, which of them matter, and how to take the others out.

`contract` says what a rule of an op has to know; `weighted`, `channelwise` and `moves` are the rules. `facts` carries
ranges and equalities from the inputs on, `needs` carries what is read back from the outputs, `weights` rewrites the
constants of weighted nodes, `shrink` takes channels out.

A channel is an index on the last axis. Only int8 tensors are looked at. A node without a rule is a wall: all channels
of its operands and results stay, and nothing is known of its results.
"""
