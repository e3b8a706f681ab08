"""The choice of each node's kernel.

- `strategy` chooses, explains the choice, and forces one for benchmarks;
- `variants` balances instructions against flash for all layers of a model;
- `cost_model` is the cost of a node with a kernel: instructions, cycles, flash, RAM;
- `price` is the number of instructions that a byte of flash must save, `flash` the flash of a model, `code_size` the
  flash of code;
- `work` counts the operations that a cost consists of, `measured` reads measurements: `data/`, one file per core.
"""
