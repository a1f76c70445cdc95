"""The bundles that a gateway serves, and what an app may be given below one."""
