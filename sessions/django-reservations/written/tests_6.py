

class TwoGuestsTest(TransactionTestCase):
    """Not on a table that is rolled back: the guests have connections of their own."""

    def test_writers_wait_for_each_other(self):
        self.assertEqual(connection.settings_dict["OPTIONS"]["transaction_mode"], "IMMEDIATE")
