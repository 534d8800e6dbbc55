from django.urls import path

from menu import views

app_name = "menu"

urlpatterns = [
    path("", views.MenuView.as_view(), name="menu"),
    path("menu/<int:pk>/", views.CategoryView.as_view(), name="category"),
]
