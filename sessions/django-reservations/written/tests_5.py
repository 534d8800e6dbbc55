

class ByPhoneTest(Restaurant):
    def test_the_staff_books_at_short_notice_and_without_the_limit_per_number(self):
        for clock in ("18:00", "18:00"):
            self.book(clock, phone="06 555 1000")
        taken = services.take_call(friday("20:00"), 2, "Ada Rossi", "06 555 1000", now=friday("19:50"))
        self.assertEqual(taken.table, self.small)

    def test_the_house_rules_hold_for_the_staff_too(self):
        with self.assertRaisesMessage(RuleBroken, "not open"):
            services.take_call(friday("21:00"), 2, "Ada Rossi", "06 555 1000", now=NOW)
        with self.assertRaisesMessage(RuleBroken, "past"):
            services.take_call(friday("19:00"), 2, "Ada Rossi", "06 555 1000", now=friday("19:30"))

    def test_a_large_party_gets_a_large_table(self):
        table = Table.objects.create(area=self.small.area, number=3, seats=12)
        taken = services.take_call(friday("19:00"), 11, "Ada Rossi", "06 555 1000", now=NOW)
        self.assertEqual(taken.table, table)

    @mock.patch("django.utils.timezone.now", return_value=NOW)
    def test_the_form_on_the_day_page(self, now):
        self.client.force_login(User.objects.create_superuser("nora", password="basilico"))
        given = {"clock": "19:15", "party": 3, "name": "Bruno", "phone": "06 555 2000", "note": ""}
        page = self.client.post("/staff/2026-03-06/", given, follow=True)
        self.assertContains(page, "Table 2 for Bruno at 19:15.")
        page = self.client.post("/staff/2026-03-06/", given | {"clock": "21:30"})
        self.assertContains(page, "not open for a whole visit")
