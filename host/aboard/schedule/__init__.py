"""From a graph to steps: which nodes are executed, and which tensors share memory."""
