"""Tables in constant memory, whoever reads them: sources, sinks, columns, rows."""
