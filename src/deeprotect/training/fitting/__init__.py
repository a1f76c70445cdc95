"""From a policy and labelled windows to a protector: what may be built, what is chosen, what is measured."""
