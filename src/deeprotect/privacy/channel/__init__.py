"""The discrete channel: its design as a linear programme, its integers, and what its promises rest on."""
