"""What holds for all tests: how fast a machine is decides nothing."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("no clock")
