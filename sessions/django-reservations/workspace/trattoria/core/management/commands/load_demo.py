"""Fill an empty database with data to look at."""

import json
from datetime import time
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import transaction

from floor.models import Area, Table
from hours.models import ClosedDay, OpeningHours
from menu.models import Category, Dish


class Command(BaseCommand):
    help = "Loads demo/data.json; does nothing where there is an area already."

    @transaction.atomic
    def handle(self, **options):
        if Area.objects.exists():
            self.stdout.write("The database has areas already, nothing loaded.")
            return
        data = json.loads(Path(settings.BASE_DIR, "demo", "data.json").read_text())
        self.load_floor(data["areas"])
        self.load_hours(data["hours"], data["closed"])
        self.load_menu(data["menu"])
        self.stdout.write(
            f"Loaded {Area.objects.count()} areas, {Table.objects.count()} tables, "
            f"{OpeningHours.objects.count()} opening hours, {Dish.objects.count()} dishes."
        )

    def load_floor(self, areas):
        for position, (name, tables) in enumerate(areas.items()):
            area = Area.objects.create(name=name, position=position)
            Table.objects.bulk_create(Table(area=area, number=number, seats=seats) for number, seats in tables)

    def load_hours(self, hours, closed):
        for weekday, begin, end in hours:
            OpeningHours.objects.create(
                weekday=weekday, opens=time.fromisoformat(begin), closes=time.fromisoformat(end)
            )
        for day, reason in closed:
            ClosedDay.objects.create(day=day, reason=reason)

    def load_menu(self, menu):
        for position, (name, dishes) in enumerate(menu.items()):
            category = Category.objects.create(name=name, position=position)
            for title, price, tags in dishes:
                Dish.objects.create(category=category, title=title, price=price, tags=tags)
