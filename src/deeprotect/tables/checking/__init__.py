"""All problems of a table, counted, each with the fix: one pass, in constant memory."""
