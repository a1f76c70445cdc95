"""Live streams on the clock: readings to windows, windows to draws, draws to releases."""
