from django.db import models


class Weekday(models.IntegerChoices):
    MONDAY = 0
    TUESDAY = 1
    WEDNESDAY = 2
    THURSDAY = 3
    FRIDAY = 4
    SATURDAY = 5
    SUNDAY = 6


class OpeningHours(models.Model):
    """One span of a weekday in which the kitchen is open; a day can have several. Never past midnight."""

    weekday = models.PositiveSmallIntegerField(choices=Weekday)
    opens = models.TimeField()
    closes = models.TimeField()

    class Meta:
        ordering = ["weekday", "opens"]
        verbose_name_plural = "opening hours"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(closes__gt=models.F("opens")), name="opening_hours_end_after_start"
            ),
        ]

    def __str__(self):
        return f"{self.get_weekday_display()} {self.opens:%H:%M}–{self.closes:%H:%M}"


class ClosedDay(models.Model):
    """A date on which we do not open, whatever the weekday says."""

    day = models.DateField(unique=True)
    reason = models.CharField(max_length=80)

    class Meta:
        ordering = ["day"]

    def __str__(self):
        return f"{self.day:%d %b %Y}: {self.reason}"
