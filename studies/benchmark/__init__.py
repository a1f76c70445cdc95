"""Speed and memory as ratios against peers measured in the same run."""
