"""The paper's three case studies on public data, and every figure of its evaluation, redrawn."""
