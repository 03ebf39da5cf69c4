"""hiremate-gen: a compiler from a PyTorch model and a memory budget to readable training-step source."""
