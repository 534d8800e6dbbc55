from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models


class Area(models.Model):
    """A part of the restaurant: the dining room, the courtyard."""

    name = models.CharField(max_length=40, unique=True)
    position = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["position", "name"]

    def __str__(self):
        return self.name


class Table(models.Model):
    area = models.ForeignKey(Area, on_delete=models.PROTECT, related_name="tables")
    number = models.PositiveSmallIntegerField(help_text="As it stands on the brass plate.")
    seats = models.PositiveSmallIntegerField(validators=[MinValueValidator(1), MaxValueValidator(20)])

    class Meta:
        ordering = ["area", "number"]

    def __str__(self):
        return f"Table {self.number} ({self.seats})"
