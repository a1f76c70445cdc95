"""Studies of deeprotect itself, not shipped: the paper again, known tables, attacks on bundles, peers, speed."""
