"""The models that come with the package, and the script that trained them (docs/reference/models.md)."""
