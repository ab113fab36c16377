"""A model for programs that know nothing of this project: as ONNX."""
