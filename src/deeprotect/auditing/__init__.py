"""The audit: a lower bound on epsilon, from attacks on the release path as it runs."""
