from django.test import TestCase
from django.urls import reverse

from menu.models import Category, Dish


class MenuTest(TestCase):
    @classmethod
    def setUpTestData(cls):
        cls.primi = Category.objects.create(name="Primi", position=1)
        cls.dolci = Category.objects.create(name="Dolci", position=2)
        Dish.objects.create(category=cls.primi, title="Cacio e pepe", price="13.00", tags=["vegetarian"])
        Dish.objects.create(category=cls.dolci, title="Tiramisù", price="7.50")
        Dish.objects.create(category=cls.dolci, title="Panettone", price="7.00", available=False)

    def test_the_menu_shows_what_is_offered_in_one_query(self):
        with self.assertNumQueries(1):
            page = self.client.get(reverse("menu:menu"))
        self.assertContains(page, "Cacio e pepe")
        self.assertContains(page, "€ 7.50")
        self.assertNotContains(page, "Panettone")

    def test_by_tag(self):
        page = self.client.get(reverse("menu:menu"), {"tag": "vegetarian"})
        self.assertContains(page, "Cacio e pepe")
        self.assertNotContains(page, "Tiramisù")

    def test_a_category(self):
        page = self.client.get(reverse("menu:category", args=[self.dolci.pk]))
        self.assertContains(page, "Tiramisù")
        self.assertNotContains(page, "Cacio e pepe")
