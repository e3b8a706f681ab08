"""From a graph to steps: the nodes to execute, and the tensors that share memory."""
