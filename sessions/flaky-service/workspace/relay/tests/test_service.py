import tempfile
import unittest
from pathlib import Path

from service import server, worker
from service.clock import Clock
from service.store import Store


class ServiceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.store, self.clock = Store(self.folder / "state"), Clock()

    def pass_time(self, seconds):
        for _ in range(seconds // 5):
            server.tick(self.store, self.clock)

    def file(self, *quantities):
        path = self.folder / "orders.csv"
        lines = [f"A-{number};c{number};lamp;{quantity}" for number, quantity in enumerate(quantities)]
        path.write_text("\n".join(["order;customer;article;quantity", *lines]) + "\n")
        return path

    def test_it_is_ready_after_half_a_minute(self):
        server.start(self.store, self.clock)
        self.pass_time(25)
        self.assertEqual(server.health(self.store, self.clock), "starting: index 5/6")
        self.pass_time(5)
        self.assertEqual(server.health(self.store, self.clock), "ready")

    def test_a_file_is_imported_in_chunks(self):
        server.start(self.store, self.clock)
        self.pass_time(30)
        job = worker.submit(self.store, self.clock, self.file(*range(1, 51)))
        self.pass_time(10)
        self.assertIn("running, 40 of 50", worker.status(self.store, job))
        self.pass_time(5)
        self.assertIn("done, 50 of 50", worker.status(self.store, job))
        self.assertEqual(len(self.store.load("orders", {})), 50)
