"""Forget who our guests were, 90 days after their visit. Run it every night."""

from django.core.management.base import BaseCommand

from reservations import services


class Command(BaseCommand):
    help = "Removes names, phone numbers and notes of visits that are long over; the numbers stay."

    def handle(self, **options):
        self.stdout.write(f"Forgot {services.forget()} guests.")
