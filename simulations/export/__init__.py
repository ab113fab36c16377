"""A model for programs that know nothing of this project: as ONNX, or as scikit-learn's own estimators (skops)."""
