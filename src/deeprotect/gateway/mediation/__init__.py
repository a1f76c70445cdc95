"""One gateway: what comes in, what goes out, and the mediator between."""
