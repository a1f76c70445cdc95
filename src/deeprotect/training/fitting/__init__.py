"""Building a protector from a policy and labelled windows: candidates, choice, measurements."""
