"""The lowest room: bundle manifests, temporary folders, foreign programs and packages, and safe text."""
