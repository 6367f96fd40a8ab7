"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# How long an example takes to be drawn is the machine's doing, as is how long it takes to run.
settings.register_profile("coldwarm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("coldwarm")
