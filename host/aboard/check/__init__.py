"""Checks results: against reference interpreters, layer by layer, pass by pass, and against labels."""
