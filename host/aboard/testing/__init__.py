"""For tests of those who use aboard: a pytest plugin that runs models on emulated and real boards."""
