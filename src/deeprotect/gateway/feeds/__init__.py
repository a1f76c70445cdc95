"""Optional feeds: an MQTT broker, addresses of apps, and replayed recordings."""
