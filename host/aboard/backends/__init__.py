"""Devices that come with the package; each uses only what plug-ins may use."""
