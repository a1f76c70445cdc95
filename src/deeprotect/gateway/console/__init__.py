"""The console: pages for the admin, served by the gateway; nothing on them comes from elsewhere."""
