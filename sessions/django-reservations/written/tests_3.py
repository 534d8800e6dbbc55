

class DayPageTest(Restaurant):
    @classmethod
    def setUpTestData(cls):
        super().setUpTestData()
        cls.nora = User.objects.create_superuser("nora", password="basilico")

    def test_guests_are_sent_to_the_login(self):
        self.assertRedirects(self.client.get("/staff/2026-03-06/"), "/admin/login/?next=/staff/2026-03-06/")

    def test_who_comes_when_in_a_fixed_number_of_queries(self):
        self.client.force_login(self.nora)
        self.book("18:00", party=2, note="birthday")
        self.book("19:30", party=5, phone="06 555 1001")
        services.cancel(self.book("20:00", phone="06 555 1002"), now=NOW)
        with self.assertNumQueries(5):
            page = self.client.get("/staff/2026-03-06/")
        self.assertContains(page, "2 bookings, 7 guests")
        self.assertContains(page, "birthday")
        self.assertNotContains(page, "1002")

    def test_seats_per_quarter_hour(self):
        self.book("18:00", party=2)
        self.book("19:30", party=5, phone="06 555 1001")
        load = {f"{quarter.begin:%H:%M}": quarter.seats_taken for quarter in sheet(FRIDAY).quarters}
        self.assertEqual([load[clock] for clock in ("18:00", "19:45", "20:00", "21:45")], [2, 7, 5, 0])

    def test_no_shows_are_listed_but_not_counted(self):
        booking = self.book()
        Reservation.objects.update(status=Status.NO_SHOW)
        self.assertEqual((sheet(FRIDAY).bookings, sheet(FRIDAY).guests), ([booking], 0))


class AdminTest(Restaurant):
    def test_marking_those_who_did_not_come(self):
        self.client.force_login(User.objects.create_superuser("nora", password="basilico"))
        booking = self.book()
        act = {"action": "mark_no_show", "_selected_action": [booking.pk]}
        page = self.client.post("/admin/reservations/reservation/", act, follow=True)
        self.assertContains(page, "1 marked.")
        self.assertEqual(Reservation.objects.get().status, Status.NO_SHOW)
