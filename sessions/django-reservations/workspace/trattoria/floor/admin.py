from django.contrib import admin

from floor.models import Area, Table


class TableInline(admin.TabularInline):
    model = Table
    extra = 0


@admin.register(Area)
class AreaAdmin(admin.ModelAdmin):
    list_display = ["name", "position"]
    inlines = [TableInline]
