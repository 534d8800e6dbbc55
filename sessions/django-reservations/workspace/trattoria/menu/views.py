from django.views.generic import DetailView, ListView

from menu.models import Category, Dish


class MenuView(ListView):
    """The whole menu on one page, by category."""

    template_name = "menu/menu.html"
    context_object_name = "dishes"

    def get_queryset(self):
        dishes = Dish.objects.offered()
        if tag := self.request.GET.get("tag"):
            return [dish for dish in dishes if tag in dish.tags]
        return dishes


class CategoryView(DetailView):
    model = Category
    template_name = "menu/category.html"

    def get_context_data(self, **kwargs):
        return super().get_context_data(dishes=self.object.dishes.offered(), **kwargs)
