"""Zephyr support: workspaces and modules, boards by Zephyr's names, and the reports and errors of Zephyr's tools."""
