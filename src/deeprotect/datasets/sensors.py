"""Public ranges by sensor type: what the hardware must be able to measure, never what a data set contains."""

from math import pi

from deeprotect.signals import Channel

STANDARD_GRAVITY = 9.80665  # m/s² in one g (CGPM 1901)
# Android Compatibility Definition: 7.3.1 an accelerometer must measure up to four times gravity on any axis;
# 7.3.4 a gyroscope must measure up to 1,000 degrees per second. Every compatible device covers these.
ACCELEROMETER_G = 4.0
GYROSCOPE_RAD_S = 1000 * pi / 180


def triaxial(name: str, unit: str, limit: float, *, resolution: float | None = None) -> tuple[Channel, ...]:
    """Three axes with the same symmetric range."""
    return tuple(Channel(f"{name}_{axis}", unit, -limit, limit, resolution) for axis in "xyz")
