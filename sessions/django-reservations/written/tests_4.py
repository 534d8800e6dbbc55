

class ForgetTest(Restaurant):
    def test_after_ninety_days_only_the_numbers_stay(self):
        booking = self.book("19:00", note="allergic to nuts")
        self.assertEqual(services.forget(now=friday("21:00") + timedelta(days=89)), 0)
        self.assertEqual(services.forget(now=friday("21:00") + timedelta(days=91)), 1)
        kept = Reservation.objects.get()
        self.assertEqual((kept.name, kept.phone, kept.note, kept.party), ("", "", "", 2))
        with self.assertRaises(NotFound):
            services.find(booking.token)
        self.assertEqual(services.forget(now=friday("21:00") + timedelta(days=92)), 0)

    def test_the_nightly_command(self):
        out = StringIO()
        call_command("forget_guests", stdout=out)
        self.assertEqual(out.getvalue(), "Forgot 0 guests.\n")
