import warnings

from django.test.runner import DiscoverRunner


class StrictRunner(DiscoverRunner):
    """Fails on warnings, so that a deprecation is met when Django is upgraded and not after."""

    def run_suite(self, suite, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return super().run_suite(suite, **kwargs)
