"""The choice of each node's kernel.

- `strategy` chooses, explains the choice, and forces one for benchmarks;
- `variants` balances cycles against flash and RAM for all layers of a model;
- `specific` is the order of kernels whose costs are not known;
- `cost_model` is the cost of a node with a kernel: instructions, cycles, flash, RAM;
- `stalls` is the part of the cycles that a core waits for the flash of its board;
- `price` is the number of cycles that a byte of flash or RAM must save, `flash` the flash of a model, `code_size` the
  flash of code;
- `work` counts the operations that a cost consists of, `measured` reads measurements: `data/`, one file per core.
"""
