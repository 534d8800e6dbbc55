
    def ready(self):
        server.start(self.store, self.clock)
        self.pass_time(30)

    def test_a_row_that_makes_no_sense_is_rejected_and_the_others_are_imported(self):
        self.ready()
        job = worker.submit(self.store, self.clock, self.file(1, "", 0, "two", 5))
        self.pass_time(5)
        self.assertEqual(worker.status(self.store, job), "job 1: done, 5 of 5 rows (100 %), 3 rejected")
        self.assertEqual(sorted(self.store.load("orders", {})), ["A-0", "A-4"])
        reasons = self.store.load("jobs", [])[0]["rejected"]
        self.assertEqual(reasons, [[3, "quantity is no number"], [4, "quantity below 1"], [5, "quantity is no number"]])

    def test_a_chunk_that_keeps_failing_fails_the_job(self):
        self.ready()
        path = self.file(1, 2)
        job = worker.submit(self.store, self.clock, path)
        path.unlink()
        self.pass_time(10)
        self.assertIn("running", worker.status(self.store, job))
        self.pass_time(5)
        self.assertIn("failed", worker.status(self.store, job))
        after = worker.submit(self.store, self.clock, self.file(1, 2))
        self.pass_time(5)
        self.assertIn("done", worker.status(self.store, after))
