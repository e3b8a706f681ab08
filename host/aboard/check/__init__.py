"""Whether results are right: compared with reference interpreters, layer by layer, pass by pass, and with labels."""
