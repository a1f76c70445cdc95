"""The vocabulary of networks: layers that are numbers, each a pure function of one row."""
