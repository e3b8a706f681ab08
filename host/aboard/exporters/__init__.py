"""Writes model files: graphs as TFLite and ONNX files."""
