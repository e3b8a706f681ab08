"""Whether results are right: compared with reference interpreters, layer by layer, and with labels."""
