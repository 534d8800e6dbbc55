
    def test_a_stop_in_the_middle_of_a_job_holds_nobody_up(self):
        self.ready()
        job = worker.submit(self.store, self.clock, self.file(*range(1, 51)))
        self.pass_time(5)
        server.stop(self.store, self.clock)
        self.ready()
        self.assertEqual(server.health(self.store, self.clock), "ready")
        self.pass_time(10)
        self.assertIn("done, 50 of 50", worker.status(self.store, job))

    def test_a_crash_holds_the_next_start_up_until_the_lease_has_run_out(self):
        self.ready()
        self.pass_time(5)
        self.store.save("state", {"phase": "down", "starts": 1})
        server.start(self.store, self.clock)
        self.assertIn("waiting for the lock of start 1", server.health(self.store, self.clock))
        self.pass_time(60 + 30)
        self.assertEqual(server.health(self.store, self.clock), "ready")
