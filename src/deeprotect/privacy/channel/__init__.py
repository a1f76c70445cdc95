"""The discrete channel: its design as a linear programme, and its integers."""
