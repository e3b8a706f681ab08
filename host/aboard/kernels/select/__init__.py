"""The one place where the kernel of a node is chosen.

- `strategy` chooses, explains the choice, and forces one for benchmarks;
- `variants` weighs instructions against flash for all layers of a model;
- `cost_model` is the cost of a node with a kernel: instructions, cycles, flash, RAM;
- `price` is what a byte of flash must save, `flash` what a model takes of it, `code_size` what code takes;
- `work` counts what a cost is made of, `measured` reads what was measured: `data/`, one file per core.
"""
