"""Feeds that somebody asked for: a broker, addresses of apps, recordings played as if live."""
