"""The layers of networks: numbers only, each layer a pure function of one row."""
