"""The one engine inside other people's: Spark and Dask call one Arrow function on workers of theirs."""
