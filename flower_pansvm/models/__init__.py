"""The models that runs make: one file a model, each found by the kind that is written in its file."""
