"""A back office of about 150 files, in which amounts of money are floats: 18 departments after one pattern, with
their own fields and rules, and four that are different. Made by code, the same every time."""

import shutil
from pathlib import Path

HERE = Path(__file__).resolve().parent

# name, entity, party, amounts (charged, added, taken off), rule, what it is about
DEPARTMENTS = (
    (
        "orders",
        "Order",
        "customer",
        ("goods", "shipping", "discount"),
        "discount",
        "what customers have ordered",
    ),
    (
        "quotes",
        "Quote",
        "prospect",
        ("estimate", "travel", "allowance"),
        "discount",
        "offers that nobody has accepted yet",
    ),
    ("invoices", "Invoice", "debtor", ("net", "reminder_fee", "prepaid"), "late_fee", "what we are owed"),
    ("bills", "Bill", "supplier", ("claimed", "surcharge", "credited"), "late_fee", "what we owe"),
    ("loans", "Loan", "borrower", ("principal", "handling", "repaid"), "instalments", "money lent to staff"),
    (
        "leases",
        "Lease",
        "lessee",
        ("rent", "servicing", "deposit"),
        "instalments",
        "machines that are let by the month",
    ),
    ("parcels", "Parcel", "recipient", ("postage", "insurance", "voucher"), "minimum", "single shipments"),
    (
        "freight",
        "Consignment",
        "consignee",
        ("haulage", "toll", "rebate"),
        "minimum",
        "shipments by the pallet",
    ),
    ("rentals", "Rental", "guest", ("daily", "cleaning", "held"), "late_fee", "tools that go out by the day"),
    ("repairs", "Repair", "owner", ("labour", "parts", "goodwill"), "minimum", "work on what comes back"),
    (
        "courses",
        "Course",
        "attendee",
        ("tuition", "material", "grant"),
        "discount",
        "evening classes in the workshop",
    ),
    ("events", "Event", "organiser", ("fee", "catering", "sponsored"), "instalments", "hiring out the hall"),
    (
        "tickets",
        "Ticket",
        "visitor",
        ("price", "booking_fee", "reduction"),
        "discount",
        "entrance to exhibitions",
    ),
    (
        "memberships",
        "Membership",
        "member",
        ("dues", "magazine", "waived"),
        "late_fee",
        "the friends of the workshop",
    ),
    ("donations", "Pledge", "donor", ("pledged", "costs", "received"), "instalments", "money promised"),
    (
        "commissions",
        "Commission",
        "client",
        ("agreed", "extras", "advance"),
        "instalments",
        "pieces made to order",
    ),
    (
        "consignments",
        "Piece",
        "artist",
        ("sold", "framing", "share"),
        "minimum",
        "other people's work in our shop",
    ),
    (
        "vouchers",
        "Voucher",
        "bearer",
        ("value", "wrapping", "used"),
        "minimum",
        "gifts that are redeemed later",
    ),
)
RULES = {
    "discount": '''\
FREE_FROM = 50.0


def with_discount(ENTITY_: ENTITY, rate: float) -> ENTITY:
    """`rate` percent off CHARGED, from 50 euros on."""
    if ENTITY_.CHARGED < FREE_FROM:
        return ENTITY_
    return replace(ENTITY_, TAKEN=round(ENTITY_.TAKEN + ENTITY_.CHARGED * rate / 100, 2))
''',
    "late_fee": '''\
FEE_PER_DAY = 0.35
GRACE = 14


def with_late_fee(ENTITY_: ENTITY, today: date) -> ENTITY:
    """A fee for every day after two weeks, as ADDED."""
    days = max(0, (today - ENTITY_.made).days - GRACE)
    return replace(ENTITY_, ADDED=round(ENTITY_.ADDED + days * FEE_PER_DAY, 2))
''',
    "instalments": '''\
def instalments(ENTITY_: ENTITY, parts: int) -> list[float]:
    """The total in equal parts."""
    share = round(total(ENTITY_) / parts, 2)
    return [share] * parts
''',
    "minimum": '''\
MINIMUM = 4.9


def with_minimum(ENTITY_: ENTITY) -> ENTITY:
    """ADDED is never below the minimum charge."""
    if ENTITY_.ADDED >= MINIMUM:
        return ENTITY_
    return replace(ENTITY_, ADDED=MINIMUM)
''',
}
RULE_TESTS = {
    "discount": """\
    def test_a_discount_from_fifty_euros_on(self):
        self.assertEqual(with_discount(self.one, 10).TAKEN, 2.5)
        self.assertAlmostEqual(with_discount(replace(self.one, CHARGED=59.9), 12.5).TAKEN, 9.99)
""",
    "late_fee": """\
    def test_a_fee_for_every_day_after_two_weeks(self):
        self.assertEqual(with_late_fee(self.one, date(2026, 3, 16)).ADDED, 4.9)
        self.assertAlmostEqual(with_late_fee(self.one, date(2026, 3, 26)).ADDED, 8.4)
""",
    "instalments": """\
    def test_equal_instalments(self):
        self.assertEqual(instalments(self.one, 2), [11.2, 11.2])
        self.assertAlmostEqual(sum(instalments(self.one, 3)), 22.4, places=1)
""",
    "minimum": """\
    def test_a_minimum_charge(self):
        self.assertEqual(with_minimum(self.one).ADDED, 4.9)
        self.assertAlmostEqual(with_minimum(replace(self.one, ADDED=1.2)).ADDED, 4.9)
""",
}
RULE_NAMES = {
    "discount": "with_discount",
    "late_fee": "with_late_fee",
    "instalments": "instalments",
    "minimum": "with_minimum",
}
MODELS = '''\
"""NAME: ABOUT."""

from dataclasses import dataclass, field
from datetime import date


@dataclass(frozen=True)
class ENTITY:
    """Amounts are in euros. What is to be paid is CHARGED and ADDED, less TAKEN."""

    id: str
    PARTY: str
    made: date
    CHARGED: float
    ADDED: float = 0.0
    TAKEN: float = 0.0
    note: str = ""
    tags: tuple[str, ...] = field(default=())

    def is_free(self) -> bool:
        return self.CHARGED + self.ADDED - self.TAKEN <= 0.0
'''
SERVICE = '''\
"""The rules for NAME."""

IMPORTS
from NAME.models import ENTITY


def total(ENTITY_: ENTITY) -> float:
    """What the PARTY pays in the end."""
    return round(ENTITY_.CHARGED + ENTITY_.ADDED - ENTITY_.TAKEN, 2)


def summary(many: list[ENTITY]) -> dict[str, float]:
    """Sums over many, by the name of the amount."""
    sums = {"CHARGED": 0.0, "ADDED": 0.0, "TAKEN": 0.0}
    for one in many:
        sums["CHARGED"] += one.CHARGED
        sums["ADDED"] += one.ADDED
        sums["TAKEN"] += one.TAKEN
    return {name: round(amount, 2) for name, amount in sums.items()}


def largest(many: list[ENTITY], count: int = 3) -> list[ENTITY]:
    return sorted(many, key=total, reverse=True)[:count]


'''
REPOSITORY = '''\
"""Where NAME are kept: one JSON file, written as a whole."""

import json
from datetime import date
from pathlib import Path

from NAME.models import ENTITY
from shared.files import replace_file


class ENTITYRepository:
    def __init__(self, path: Path) -> None:
        self.path = path

    def all(self) -> list[ENTITY]:
        if not self.path.exists():
            return []
        return [from_record(record) for record in json.loads(self.path.read_text())]

    def of(self, PARTY: str) -> list[ENTITY]:
        return [one for one in self.all() if one.PARTY == PARTY]

    def save(self, ENTITY_: ENTITY) -> None:
        """Adds it, in place of one with the same id."""
        kept = [one for one in self.all() if one.id != ENTITY_.id]
        records = [to_record(one) for one in [*kept, ENTITY_]]
        replace_file(self.path, json.dumps(records, indent=1))


def to_record(one: ENTITY) -> dict[str, object]:
    return {
        "id": one.id,
        "PARTY": one.PARTY,
        "made": one.made.isoformat(),
        "CHARGED": round(one.CHARGED, 2),
        "ADDED": round(one.ADDED, 2),
        "TAKEN": round(one.TAKEN, 2),
        "note": one.note,
        "tags": list(one.tags),
    }


def from_record(record: dict) -> ENTITY:
    return ENTITY(
        id=record["id"],
        PARTY=record["PARTY"],
        made=date.fromisoformat(record["made"]),
        CHARGED=float(record["CHARGED"]),
        ADDED=float(record["ADDED"]),
        TAKEN=float(record["TAKEN"]),
        note=record["note"],
        tags=tuple(record["tags"]),
    )
'''
API = '''\
"""NAME as other programs see them."""

from datetime import date

from NAME.models import ENTITY
from NAME.service import total
from shared.errors import BadInput


def show(one: ENTITY) -> dict[str, object]:
    return {
        "id": one.id,
        "PARTY": one.PARTY,
        "made": one.made.isoformat(),
        "CHARGED": f"{one.CHARGED:.2f}",
        "ADDED": f"{one.ADDED:.2f}",
        "TAKEN": f"{one.TAKEN:.2f}",
        "total": f"{total(one):.2f}",
    }


def parse(payload: dict) -> ENTITY:
    """Raises BadInput."""
    try:
        return ENTITY(
            id=payload["id"],
            PARTY=payload["PARTY"],
            made=date.fromisoformat(payload["made"]),
            CHARGED=float(payload["CHARGED"]),
            ADDED=float(payload.get("ADDED", 0)),
            TAKEN=float(payload.get("TAKEN", 0)),
        )
    except (KeyError, ValueError) as error:
        raise BadInput(f"NAME: {error}") from error
'''
TABLE = '''\
"""NAME as a table for people."""

from NAME.models import ENTITY
from NAME.service import summary, total
from shared.tables import table


def as_table(many: list[ENTITY]) -> str:
    rows = [[one.id, one.PARTY, f"{one.CHARGED:.2f}", f"{one.ADDED:.2f}", f"{one.TAKEN:.2f}", f"{total(one):.2f}"] for one in many]
    sums = summary(many)
    rows.append(["", "sum", f"{sums['CHARGED']:.2f}", f"{sums['ADDED']:.2f}", f"{sums['TAKEN']:.2f}", ""])
    return table(["id", "PARTY", "CHARGED", "ADDED", "TAKEN", "total"], rows)
'''
TESTS = """\
import tempfile
import unittest
from dataclasses import replace
from datetime import date
from pathlib import Path

from NAME.api import parse, show
from NAME.models import ENTITY
from NAME.repository import ENTITYRepository
from NAME.service import SERVICE_NAMES
from NAME.table import as_table
from shared.errors import BadInput


class ENTITYTest(unittest.TestCase):
    def setUp(self):
        self.one = ENTITY("X-1", "Ines", date(2026, 3, 2), CHARGED=19.99, ADDED=4.9, TAKEN=2.5)
        self.two = ENTITY("X-2", "Jon", date(2026, 3, 3), CHARGED=0.1, ADDED=0.2)

    def test_total(self):
        self.assertAlmostEqual(total(self.one), 22.39)
        self.assertAlmostEqual(total(self.two), 0.3)
        self.assertFalse(self.two.is_free())

    def test_summary(self):
        sums = summary([self.one, self.two])
        self.assertAlmostEqual(sums["CHARGED"], 20.09)
        self.assertAlmostEqual(sums["ADDED"], 5.1)
        self.assertAlmostEqual(sums["TAKEN"], 2.5)

    def test_largest(self):
        self.assertEqual(largest([self.two, self.one], 1), [self.one])

RULE
    def test_kept_and_found_again(self):
        with tempfile.TemporaryDirectory() as folder:
            repository = ENTITYRepository(Path(folder, "NAME.json"))
            for one in (self.one, self.two, replace(self.one, note="again")):
                repository.save(one)
            self.assertEqual(repository.all(), [self.two, replace(self.one, note="again")])
            self.assertEqual(repository.of("Jon"), [self.two])

    def test_shown_and_parsed(self):
        self.assertEqual(show(self.one)["total"], "22.39")
        self.assertEqual(show(self.two)["CHARGED"], "0.10")
        self.assertEqual(parse(show(self.one)), self.one)
        with self.assertRaises(BadInput):
            parse({"id": "X-3"})

    def test_as_table(self):
        self.assertIn("19.99", as_table([self.one, self.two]))
        self.assertIn("20.09", as_table([self.one, self.two]))
"""


def make(root: Path) -> None:
    shutil.copytree(HERE / "files", root / "atelier")
    for number, (name, entity, party, amounts, rule, subject) in enumerate(DEPARTMENTS):
        words = {
            "ENTITY_": entity.lower(),
            "ENTITY": entity,
            "NAME": name,
            "PARTY": party,
            "CHARGED": amounts[0],
            "ADDED": amounts[1],
            "TAKEN": amounts[2],
            "ABOUT": subject,
        }
        folder = root / "atelier" / name
        folder.mkdir()
        (folder / "__init__.py").touch()
        imports = ["from dataclasses import replace"] if rule != "instalments" else []
        imports += ["from datetime import date"] if rule == "late_fee" else []
        service = SERVICE.replace("IMPORTS\n", "\n".join([*imports, ""]) + "\n" if imports else "").replace(
            "\n\n\nfrom NAME", "\n\nfrom NAME"
        )
        names = ", ".join(sorted(["total", "summary", "largest", RULE_NAMES[rule]]))
        tests = TESTS.replace("SERVICE_NAMES", names).replace("RULE\n", test_of(rule))
        texts = {"models.py": MODELS, "service.py": service + RULES[rule], "repository.py": REPOSITORY}
        texts |= {"api.py": API, "table.py": TABLE}
        for file, text in texts.items():
            (folder / file).write_text(filled(text, words))
        (root / "atelier" / "tests" / f"test_{name}.py").write_text(filled(tests, words))
        (root / "atelier" / "docs" / f"{name}.md").write_text(
            described(number, name, party, amounts, rule, subject)
        )


def test_of(rule: str) -> str:
    return RULE_TESTS[rule].replace("[11.2, 11.2]", "[11.2, 11.2]").replace("22.4,", "22.39,") + "\n"


def filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def described(number: int, name: str, party: str, amounts: tuple[str, ...], rule: str, subject: str) -> str:
    rules = {
        "discount": "From 50 euros on a discount can be given, in percent of the first amount.",
        "late_fee": "After two weeks every day costs 0.35 euros.",
        "instalments": "The total can be paid in equal instalments. They do not always add up to it; see issue "
        f"{212 + number}.",
        "minimum": "The second amount is never below 4.90 euros.",
    }
    return (
        f"# {name}\n\nThis is about {subject}. Each has one {party} and three amounts: {amounts[0]}, {amounts[1]}, and "
        f"{amounts[2]}, which is taken off.\n\n{rules[rule]}\n"
    )
