from django.urls import path

from core import converters  # noqa: F401  registers `day`
from reservations import views

app_name = "reservations"

urlpatterns = [
    path("book/", views.book, name="book"),
    path("booking/<str:token>/", views.booking, name="booking"),
    path("booking/<str:token>/cancel/", views.cancel, name="cancel"),
    path("staff/", views.day, name="today"),
    path("staff/<day:day>/", views.day, name="day"),
]
