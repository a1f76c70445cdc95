"""The console: pages for the admin, served by the gateway without content from elsewhere."""
