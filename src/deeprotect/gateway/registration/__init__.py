"""Who may send and who may have what."""
