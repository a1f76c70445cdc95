"""Reading and writing tables in constant memory: sources, sinks, columns, rows."""
