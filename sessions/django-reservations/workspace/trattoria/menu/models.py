from django.db import models


class Category(models.Model):
    name = models.CharField(max_length=40, unique=True)
    position = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["position", "name"]
        verbose_name_plural = "categories"

    def __str__(self):
        return self.name


class DishQuerySet(models.QuerySet):
    def offered(self):
        return self.filter(available=True).select_related("category")


class Dish(models.Model):
    category = models.ForeignKey(Category, on_delete=models.PROTECT, related_name="dishes")
    title = models.CharField(max_length=80)
    price = models.DecimalField(max_digits=5, decimal_places=2)
    tags = models.JSONField(default=list, blank=True, help_text='A list such as ["vegan"].')
    available = models.BooleanField(default=True)

    objects = DishQuerySet.as_manager()

    class Meta:
        ordering = ["category", "title"]
        verbose_name_plural = "dishes"

    def __str__(self):
        return self.title
