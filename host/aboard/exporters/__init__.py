"""Writes model files: graphs as TFLite files."""
