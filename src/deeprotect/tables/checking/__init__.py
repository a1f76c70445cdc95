"""All problems of a table at once, counted, each with the fix: one pass, in constant memory."""
