"""Functions that read operators of ONNX files, a file for each family. A new file is enough to add a family."""
