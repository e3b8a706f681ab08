"""What tests share: building models, reference interpreters, real models."""
