"""From a bundle and a board to an image: templates, placement in memory, toolchains, builds."""
