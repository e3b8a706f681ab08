"""The lowest room: the manifest of a bundle, temporary folders, programs and packages of others, text made safe."""
