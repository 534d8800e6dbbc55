from django.contrib import admin

from reservations.models import Reservation, Status


@admin.register(Reservation)
class ReservationAdmin(admin.ModelAdmin):
    list_display = ["begins", "table", "party", "name", "phone", "status"]
    list_filter = ["status", "table__area", "begins"]
    list_select_related = ["table"]
    search_fields = ["name", "phone"]
    date_hierarchy = "begins"
    readonly_fields = ["created"]
    actions = ["mark_no_show", "mark_cancelled"]

    @admin.action(description="Mark as did not come")
    def mark_no_show(self, request, chosen):
        self.message_user(request, f"{chosen.update(status=Status.NO_SHOW)} marked.")

    @admin.action(description="Cancel")
    def mark_cancelled(self, request, chosen):
        self.message_user(request, f"{chosen.update(status=Status.CANCELLED)} cancelled.")
