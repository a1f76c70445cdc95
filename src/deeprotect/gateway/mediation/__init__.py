"""One gateway: input, output, and the mediator between them."""
