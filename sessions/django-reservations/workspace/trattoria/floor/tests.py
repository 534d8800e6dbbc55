from django.test import TestCase

from floor.models import Area, Table


class TableTest(TestCase):
    def test_tables_come_by_area_and_number(self):
        yard = Area.objects.create(name="Courtyard", position=2)
        room = Area.objects.create(name="Dining room", position=1)
        for area, number in ((yard, 9), (room, 2), (room, 1)):
            Table.objects.create(area=area, number=number, seats=4)
        self.assertEqual([table.number for table in Table.objects.all()], [1, 2, 9])

    def test_a_table_says_its_seats(self):
        area = Area.objects.create(name="Dining room")
        self.assertEqual(str(Table(area=area, number=3, seats=4)), "Table 3 (4)")
