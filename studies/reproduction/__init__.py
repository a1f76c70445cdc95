"""The paper's case studies and figures, run again on public data."""
