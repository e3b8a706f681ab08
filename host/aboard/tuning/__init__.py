"""The tunable parameters of devices, and records of the best values. The compiler is not imported here."""
