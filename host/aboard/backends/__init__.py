"""Devices that come with the package; each uses only the interface for plug-ins."""
