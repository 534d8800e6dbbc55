from django.urls import path

from reservations import views

app_name = "reservations"

urlpatterns = [
    path("book/", views.book, name="book"),
    path("booking/<str:token>/", views.booking, name="booking"),
    path("booking/<str:token>/cancel/", views.cancel, name="cancel"),
]
