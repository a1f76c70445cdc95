"""The release engine inside Spark and Dask, which call one Arrow function on their workers."""
