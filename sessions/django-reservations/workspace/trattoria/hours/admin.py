from django.contrib import admin

from hours.models import ClosedDay, OpeningHours


@admin.register(OpeningHours)
class OpeningHoursAdmin(admin.ModelAdmin):
    list_display = ["weekday", "opens", "closes"]
    list_filter = ["weekday"]


@admin.register(ClosedDay)
class ClosedDayAdmin(admin.ModelAdmin):
    list_display = ["day", "reason"]
    date_hierarchy = "day"
