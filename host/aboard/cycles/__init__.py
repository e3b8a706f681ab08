"""Cycles of the instructions that an emulated image executed, by the times of its core."""
