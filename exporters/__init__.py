"""From torch to the files that a phone runs: families, LoRA, graphs, parity."""
