"""Makes images from bundles and boards: templates, placement in memory, toolchains, builds."""
