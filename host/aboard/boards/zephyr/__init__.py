"""What aboard knows of Zephyr: workspaces and their modules, boards by Zephyr's names, and what its tools say."""
