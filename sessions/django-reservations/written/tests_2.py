

@mock.patch("django.utils.timezone.now", return_value=NOW)
class GuestPagesTest(Restaurant):
    URL = "/book/"
    WHO = {"day": "2026-03-06", "party": 2, "clock": "19:00", "name": "Ada Rossi", "phone": "06 555 1000"}

    def test_the_first_step_asks_when(self, now):
        self.assertContains(self.client.get(self.URL), "Show free times")

    def test_the_second_step_offers_times(self, now):
        self.book("18:00", party=6)
        with self.assertNumQueries(4):
            page = self.client.get(self.URL, {"day": "2026-03-06", "party": 4})
        self.assertContains(page, 'value="20:00"')
        self.assertNotContains(page, 'value="19:45"')

    def test_a_closed_day_says_why(self, now):
        ClosedDay.objects.create(day=FRIDAY, reason="Carpenter")
        self.assertContains(self.client.get(self.URL, {"day": "2026-03-06", "party": 4}), "Carpenter")

    def test_booking_leads_to_the_guests_own_page(self, now):
        answer = self.client.post(self.URL, self.WHO)
        booking = Reservation.objects.get()
        self.assertRedirects(answer, booking.get_absolute_url())
        self.assertEqual((booking.begins, booking.table), (friday("19:00"), self.small))
        self.assertContains(self.client.get(booking.get_absolute_url()), "Friday, 6 March 2026, 19:00")

    def test_a_broken_rule_is_shown_beside_the_form(self, now):
        page = self.client.post(self.URL, self.WHO | {"clock": "21:00"})
        self.assertContains(page, "not open for a whole visit")
        self.assertFalse(Reservation.objects.exists())

    def test_cancelling(self, now):
        booking = self.book()
        page = self.client.post(f"{booking.get_absolute_url()}cancel/", follow=True)
        self.assertContains(page, "Another time!")
        self.assertEqual(Reservation.objects.get().status, Status.CANCELLED)

    def test_a_link_does_not_cancel_by_being_looked_at(self, now):
        self.assertEqual(self.client.get(f"{self.book().get_absolute_url()}cancel/").status_code, 405)

    def test_a_guessed_link(self, now):
        self.assertEqual(self.client.get("/booking/guessed/").status_code, 404)
