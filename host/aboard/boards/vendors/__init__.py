"""Board files from vendors' own descriptions: Zephyr's device trees, CMSIS-Packs, SVD files."""
