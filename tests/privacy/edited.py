"""A description with one entry changed, for tests of what is refused."""

import copy


def edited(fields, path, value):
    """The fields with what lies at `path` replaced, or removed where the value is `...`."""
    fields = copy.deepcopy(fields)
    *parents, last = path
    inner = fields
    for name in parents:
        inner = inner[name]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return fields
