"""Testing of firmware with models: a pytest plugin and Robot Framework keywords that run models on boards."""
