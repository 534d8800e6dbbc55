from datetime import date

from django.urls import register_converter


class DayConverter:
    """A date in an address: `2026-03-06`. What is no date is no match, so the answer is 404."""

    regex = r"\d{4}-\d{2}-\d{2}"

    def to_python(self, value):
        return date.fromisoformat(value)

    def to_url(self, day):
        return day.isoformat()


register_converter(DayConverter, "day")
