"""From steps with addresses to a bundle: C sources, header, packed weights, manifest."""
