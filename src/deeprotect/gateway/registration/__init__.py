"""Registration of devices, apps and people."""
