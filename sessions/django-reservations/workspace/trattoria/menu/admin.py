from django.contrib import admin

from menu.models import Category, Dish

admin.site.register(Category)


@admin.register(Dish)
class DishAdmin(admin.ModelAdmin):
    list_display = ["title", "category", "price", "available"]
    list_editable = ["available"]
    list_filter = ["category", "available"]
    search_fields = ["title"]
