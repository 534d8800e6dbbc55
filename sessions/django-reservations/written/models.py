"""Bookings. What may be booked is decided in `services`; the database only refuses what can never be right."""

import secrets

from django.core.validators import MinValueValidator
from django.db import models
from django.urls import reverse

from floor.models import Table


def new_token() -> str:
    """What stands in a guest's link. 16 random bytes cannot be guessed."""
    return secrets.token_urlsafe(16)


class Status(models.TextChoices):
    BOOKED = "booked"
    CANCELLED = "cancelled"
    NO_SHOW = "no_show", "did not come"


class ReservationQuerySet(models.QuerySet):
    def standing(self):
        """Those that keep a table: neither cancelled nor, once the evening is over, a no-show."""
        return self.filter(status=Status.BOOKED)

    def overlapping(self, begin, end):
        return self.filter(begins__lte=end, ends__gte=begin)

    def starting_from(self, moment):
        return self.filter(begins__gte=moment)


class Reservation(models.Model):
    token = models.CharField(max_length=22, unique=True, default=new_token, editable=False)
    table = models.ForeignKey(Table, on_delete=models.PROTECT, related_name="reservations")
    begins = models.DateTimeField()
    ends = models.DateTimeField()
    party = models.PositiveSmallIntegerField(validators=[MinValueValidator(1)])
    name = models.CharField(max_length=80)
    phone = models.CharField(max_length=20, help_text="With the country, digits only: +390655501")
    note = models.CharField(max_length=200, blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.BOOKED)
    created = models.DateTimeField(auto_now_add=True)

    objects = ReservationQuerySet.as_manager()

    class Meta:
        ordering = ["begins", "table__number"]
        indexes = [models.Index(fields=["begins", "ends"]), models.Index(fields=["phone", "begins"])]
        constraints = [
            models.CheckConstraint(check=models.Q(ends__gt=models.F("begins")), name="reservation_ends_after_start"),
        ]

    def __str__(self):
        return f"{self.name or 'a guest'}, {self.party} at {self.table}"

    def get_absolute_url(self):
        return reverse("reservations:booking", args=[self.token])
