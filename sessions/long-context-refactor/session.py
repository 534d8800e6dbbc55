"""One change through a whole house of 160 files: amounts of money become whole cents.

An agent searches in a context of its own, the conversation is compacted once, thoughts are recorded, and results of
16 KB and more fill the context to well over 100,000 tokens.
"""

import runpy
from pathlib import Path

from replayer.tools.toolsets import load
from sessions.claude import (
    AGENT_SYSTEM,
    bash,
    edit,
    edits,
    grep,
    read,
    system_prompt,
    task,
    todo,
    write,
)
from sessions.script import Call, Compact, Say, Session, User, text_in

HERE = Path(__file__).resolve().parent
text = text_in(HERE)
NAMES = [one[0] for one in runpy.run_path(str(HERE / "workspace.py"))["DEPARTMENTS"]]
INSTALMENTS = ["loans", "leases", "events", "donations", "commissions"]
ENTITIES = {
    "loans": "loan",
    "leases": "lease",
    "events": "event",
    "donations": "pledge",
    "commissions": "commission",
}

KIT = "claude-code"
USED = {"Bash", "Edit", "Glob", "Grep", "MultiEdit", "Read", "Task", "TodoWrite", "Write"}
TOOLS = tuple(tool for tool in load(KIT).tools if tool.name in USED)
PARTS = ("models", "service", "repository", "api", "table")


def department(name: str) -> list[Call]:
    return [*(read(f"atelier/{name}/{part}.py") for part in PARTS), read(f"atelier/tests/test_{name}.py")]


def tests(what: str = "discover -s tests -t .") -> Call:
    return bash(f"python3 -m unittest {what} 2>&1", "Run the tests")


def difference(*names: str) -> Call:
    pieces = " ".join(f"{name} tests/test_{name}.py" for name in names)
    return bash(
        f"for piece in {pieces}; do diff -ruN -U 7 /tmp/before/$piece $piece | grep -v '^diff\\|^+++'; done",
        f"Show what has changed in {', '.join(names)}",
    )


TODOS = (
    "Find what is money and what is only a float",
    "Write shared/money.py with its tests",
    "Convert orders by hand, as the pattern",
    "Convert the other 17 departments by a script",
    "Instalments: parts that add up",
    "taxes, payroll, exchange and reports by hand",
    "Review every difference, documents, old files",
)

SUMMARY = """\
Summary of the work so far.

The user wants decision 14 (`/workspace/atelier/docs/money.md`) carried out through the whole house: amounts of money are \
`float` euros and become `Money`, whole cents, in `shared/money.py`. The points of the decision: (1) immutable, ordered, \
hashable; adds, subtracts, multiplies by a number with rounding to the even cent; amount times amount and amount plus \
number are errors. (2) `Money.of("19.99")` refuses fractions of a cent, `str` gives the text back, `ZERO`. (3) `split(n)` \
adds up, larger parts first. (4) Files store whole cents under the old key plus `_cents`; old files with float euros are \
still read. (5) Rates, hours, percentages stay floats. (6) The API shows the same strings as before. CONTRIBUTING: by hand \
where departments differ, by a script where they do not; the script is shown and thrown away; loose tests become exact; \
`shared/` knows no department.

Found: 18 departments are built alike (models, service, repository, api, table, a test and a page in docs each); after \
their own names are replaced there is one form of `models.py`, `repository.py`, `api.py` and `table.py`, and four of \
`service.py`: a discount, a late fee, a minimum, and instalments (loans, leases, events, donations, commissions), which do \
not add up today (issues 216, 217, 223, 226, 227). `taxes`, `payroll`, `exchange` and `reports` are different and have to be \
converted by hand; floats that are no money there: `Rate` values, `hours`, `contract`, `overtime`, `percent`, `RATES` and \
amounts in other currencies, and the percentage that `reports.share` returns.

All 141 tests pass before the change. A copy of the house as it was lies in `/tmp/before`. Nothing has been changed yet. \
Next: write `shared/money.py` and its tests, convert `orders` by hand as the pattern, then the script.
"""

EXPLORE = (
    Say(
        "",
        *(
            read(f"atelier/{path}.py")
            for path in (
                "taxes/models",
                "taxes/service",
                "payroll/models",
                "payroll/service",
                "exchange/service",
                "reports/service",
                "shared/tables",
                "shared/periods",
            )
        ),
        grep(r"percent|rate|hours|factor|weight", "atelier", output_mode="count", glob="*.py"),
    ),
    Say(
        "Tests say what the callers expect of these.",
        *(read(f"atelier/tests/test_{name}.py") for name in ("taxes", "payroll", "exchange", "reports")),
        grep(
            r"^(from|import) (taxes|payroll|exchange|reports)",
            "atelier",
            output_mode="content",
            **{"-n": True},
        ),
    ),
    Say(
        "Floats that are no money:\n\n"
        "- `taxes/models.py:11-14`: the values of `Rate`, in percent. `Line.amount` is money.\n"
        "- `payroll/models.py`: `Person.overtime` (a factor), `Week.hours`, `Week.contract` (hours). `Person.hourly` and "
        "`Week.expenses` are money.\n"
        "- `exchange/service.py`: `RATES`, `rate()`, `percent`, and every amount in another currency: `amount` of `to_euros` "
        "and the result of `from_euros`. Yen have no cents, so these are not whole cents either. Money: the result of "
        "`to_euros`, the argument of `from_euros`, `amount`, `least` and the result of `charge`.\n"
        "- `reports/service.py`: the result of `share` is a percentage. `totals`, `by_quarter` and `median` are money; "
        "`median` of an even number of amounts falls between two cents. `as_csv` prints amounts.\n"
        "- `rate` of every `with_discount` is a percentage.\n\n"
        "Nobody imports `taxes`, `payroll` or `exchange`; `reports` finds each department's `service.total` by its module, so "
        "it changes together with them. `shared/tables.py` gets text and need not change: `is_amount` takes `-0.05` as well."
    ),
)

ORDERS = (
    edits(
        "atelier/orders/models.py",
        (
            "from datetime import date\n",
            "from datetime import date\n\nfrom shared.money import ZERO, Money\n",
        ),
        ("Amounts are in euros. What", "What"),
        (
            "    goods: float\n    shipping: float = 0.0\n    discount: float = 0.0\n",
            "    goods: Money\n    shipping: Money = ZERO\n    discount: Money = ZERO\n",
        ),
        ("<= 0.0", "<= ZERO"),
    ),
    edits(
        "atelier/orders/service.py",
        (
            "from orders.models import Order\n",
            "from orders.models import Order\nfrom shared.money import ZERO, Money\n",
        ),
        ("def total(order: Order) -> float:", "def total(order: Order) -> Money:"),
        (
            "round(order.goods + order.shipping - order.discount, 2)",
            "order.goods + order.shipping - order.discount",
        ),
        ("dict[str, float]", "dict[str, Money]"),
        (
            '{"goods": 0.0, "shipping": 0.0, "discount": 0.0}',
            '{"goods": ZERO, "shipping": ZERO, "discount": ZERO}',
        ),
        ("return {name: round(amount, 2) for name, amount in sums.items()}", "return sums"),
        ("FREE_FROM = 50.0", 'FREE_FROM = Money.of("50.00")'),
        (
            "round(order.discount + order.goods * rate / 100, 2)",
            "order.discount + order.goods * (rate / 100)",
        ),
    ),
    edits(
        "atelier/orders/repository.py",
        (
            "from shared.files import replace_file\n",
            "from shared.files import replace_file\nfrom shared.money import stored\n",
        ),
        ('"goods": round(one.goods, 2)', '"goods_cents": one.goods.cents'),
        ('"shipping": round(one.shipping, 2)', '"shipping_cents": one.shipping.cents'),
        ('"discount": round(one.discount, 2)', '"discount_cents": one.discount.cents'),
        ('float(record["goods"])', 'stored(record, "goods")'),
        ('float(record["shipping"])', 'stored(record, "shipping")'),
        ('float(record["discount"])', 'stored(record, "discount")'),
    ),
    edits(
        "atelier/orders/api.py",
        (
            "from shared.errors import BadInput\n",
            "from shared.errors import BadInput\nfrom shared.money import Money\n",
        ),
        ('f"{one.goods:.2f}"', "str(one.goods)"),
        ('f"{one.shipping:.2f}"', "str(one.shipping)"),
        ('f"{one.discount:.2f}"', "str(one.discount)"),
        ('f"{total(one):.2f}"', "str(total(one))"),
        ('float(payload["goods"])', 'Money.of(payload["goods"])'),
        ('float(payload.get("shipping", 0))', 'Money.of(payload.get("shipping", "0"))'),
        ('float(payload.get("discount", 0))', 'Money.of(payload.get("discount", "0"))'),
    ),
    edits(
        "atelier/orders/table.py",
        (
            'f"{one.goods:.2f}", f"{one.shipping:.2f}", f"{one.discount:.2f}", f"{total(one):.2f}"',
            "str(one.goods), str(one.shipping), str(one.discount), str(total(one))",
        ),
        (
            "f\"{sums['goods']:.2f}\", f\"{sums['shipping']:.2f}\", f\"{sums['discount']:.2f}\"",
            'str(sums["goods"]), str(sums["shipping"]), str(sums["discount"])',
        ),
    ),
    edits(
        "atelier/tests/test_orders.py",
        (
            "from shared.errors import BadInput\n",
            "from shared.errors import BadInput\nfrom shared.money import Money\n",
        ),
        (
            "goods=19.99, shipping=4.9, discount=2.5)",
            'goods=Money.of("19.99"), shipping=Money.of("4.90"), discount=Money.of("2.50"))',
        ),
        ("goods=0.1, shipping=0.2)", 'goods=Money.of("0.10"), shipping=Money.of("0.20"))'),
        ("assertAlmostEqual(total(self.one), 22.39)", 'assertEqual(total(self.one), Money.of("22.39"))'),
        ("assertAlmostEqual(total(self.two), 0.3)", 'assertEqual(total(self.two), Money.of("0.30"))'),
        ('assertAlmostEqual(sums["goods"], 20.09)', 'assertEqual(sums["goods"], Money.of("20.09"))'),
        ('assertAlmostEqual(sums["shipping"], 5.1)', 'assertEqual(sums["shipping"], Money.of("5.10"))'),
        ('assertAlmostEqual(sums["discount"], 2.5)', 'assertEqual(sums["discount"], Money.of("2.50"))'),
        (
            "with_discount(self.one, 10).discount, 2.5)",
            'with_discount(self.one, 10).discount, Money.of("2.50"))',
        ),
        (
            "assertAlmostEqual(with_discount(replace(self.one, goods=59.9), 12.5).discount, 9.99)",
            'assertEqual(with_discount(replace(self.one, goods=Money.of("59.90")), 12.5).discount, Money.of("9.99"))',
        ),
    ),
)

TAXES = (
    edits(
        "atelier/taxes/models.py",
        ("from enum import Enum\n", "from enum import Enum\n\nfrom shared.money import Money\n"),
        ('"""`amount` in euros, tax not included."""', '"""`amount` does not include the tax."""'),
        ("    amount: float\n", "    amount: Money\n"),
    ),
    edits(
        "atelier/taxes/service.py",
        (
            "from taxes.models import Line, Rate\n",
            "from shared.money import ZERO, Money\nfrom taxes.models import Line, Rate\n",
        ),
        (
            "def tax_on(amount: float, rate: Rate) -> float:",
            "def tax_on(amount: Money, rate: Rate) -> Money:",
        ),
        ("round(amount * rate.value / 100, 2)", "amount * (rate.value / 100)"),
        ("def tax_in(gross: float, rate: Rate) -> float:", "def tax_in(gross: Money, rate: Rate) -> Money:"),
        ("round(gross - gross / (1 + rate.value / 100), 2)", "gross - gross * (1 / (1 + rate.value / 100))"),
        ("-> dict[Rate, float]:", "-> dict[Rate, Money]:"),
        ("sums: dict[Rate, float] = {}", "sums: dict[Rate, Money] = {}"),
        ("sums.get(line.rate, 0.0)", "sums.get(line.rate, ZERO)"),
        ("def gross(lines: list[Line]) -> float:", "def gross(lines: list[Line]) -> Money:"),
        (
            "round(sum(line.amount for line in lines) + sum(by_rate(lines).values()), 2)",
            "sum([*(line.amount for line in lines), *by_rate(lines).values()], ZERO)",
        ),
    ),
    edits(
        "atelier/tests/test_taxes.py",
        (
            "from taxes.models import Line, Rate\n",
            "from shared.money import ZERO, Money\nfrom taxes.models import Line, Rate\n",
        ),
        (
            'LINES = [Line("frame", 33.3), Line("glass", 33.3), Line("catalogue", 12.5, Rate.BOOKS)]',
            'LINES = [\n    Line("frame", Money.of("33.30")),\n    Line("glass", Money.of("33.30")),\n'
            '    Line("catalogue", Money.of("12.50"), Rate.BOOKS),\n]',
        ),
        (
            "assertAlmostEqual(tax_on(100.0, Rate.NORMAL), 22.0)",
            'assertEqual(tax_on(Money.of("100.00"), Rate.NORMAL), Money.of("22.00"))',
        ),
        (
            "assertAlmostEqual(tax_on(33.33, Rate.REDUCED), 3.33)",
            'assertEqual(tax_on(Money.of("33.33"), Rate.REDUCED), Money.of("3.33"))',
        ),
        (
            "assertAlmostEqual(tax_in(122.0, Rate.NORMAL), 22.0)",
            'assertEqual(tax_in(Money.of("122.00"), Rate.NORMAL), Money.of("22.00"))',
        ),
        (
            "assertAlmostEqual(tax_in(10.4, Rate.BOOKS), 0.4)",
            'assertEqual(tax_in(Money.of("10.40"), Rate.BOOKS), Money.of("0.40"))',
        ),
        (
            "assertAlmostEqual(tax_in(10.0, Rate.NONE), 0.0)",
            'assertEqual(tax_in(Money.of("10.00"), Rate.NONE), ZERO)',
        ),
        (
            "assertAlmostEqual(found[Rate.NORMAL], 14.65)",
            'assertEqual(found[Rate.NORMAL], Money.of("14.65"))',
        ),
        ("assertAlmostEqual(found[Rate.BOOKS], 0.5)", 'assertEqual(found[Rate.BOOKS], Money.of("0.50"))'),
        ("assertAlmostEqual(gross(LINES), 94.25)", 'assertEqual(gross(LINES), Money.of("94.25"))'),
    ),
)
PAYROLL = (
    edits(
        "atelier/payroll/models.py",
        (
            "from datetime import date\n",
            "from datetime import date\n\nfrom shared.money import ZERO, Money\n",
        ),
        ('    hourly: float\n    """Euros for an hour."""\n', '    hourly: Money\n    """For an hour."""\n'),
        ('    expenses: float = 0.0\n    """Euros."""\n', "    expenses: Money = ZERO\n"),
    ),
    edits(
        "atelier/payroll/service.py",
        (
            "from payroll.models import Week\n",
            "from payroll.models import Week\nfrom shared.money import ZERO, Money\n",
        ),
        ("def pay(week: Week) -> float:", "def pay(week: Week) -> Money:"),
        (
            "    worked = normal * week.person.hourly + extra * week.person.hourly * week.person.overtime\n"
            "    return round(worked + week.expenses, 2)\n",
            "    return week.person.hourly * (normal + extra * week.person.overtime) + week.expenses\n",
        ),
        (
            "-> dict[str, float]:\n    sums: dict[str, float] = {}",
            "-> dict[str, Money]:\n    sums: dict[str, Money] = {}",
        ),
        ("round(sums.get(key, 0.0) + pay(week), 2)", "sums.get(key, ZERO) + pay(week)"),
        (
            "def average_hour(weeks: list[Week]) -> float:\n"
            '    """What an hour has cost on average, expenses not counted. 0 where nobody worked."""',
            "def average_hour(weeks: list[Week]) -> Money:\n"
            '    """What an hour has cost on average, expenses not counted. `ZERO` where nobody worked."""',
        ),
        (
            "sum(pay(week) - week.expenses for week in weeks)",
            "sum((pay(week) - week.expenses for week in weeks), ZERO)",
        ),
        ("round(cost / hours, 2) if hours else 0.0", "cost * (1 / hours) if hours else ZERO"),
    ),
    edits(
        "atelier/tests/test_payroll.py",
        (
            "from payroll.service import average_hour, by_month, pay\n",
            "from payroll.service import average_hour, by_month, pay\nfrom shared.money import ZERO, Money\n",
        ),
        ('Person("Ines", 18.4)', 'Person("Ines", Money.of("18.40"))'),
        ("expenses=12.3)", 'expenses=Money.of("12.30"))'),
        ("assertAlmostEqual(pay(WEEKS[0]), 708.4)", 'assertEqual(pay(WEEKS[0]), Money.of("708.40"))'),
        ("assertAlmostEqual(pay(WEEKS[1]), 778.2)", 'assertEqual(pay(WEEKS[1]), Money.of("778.20"))'),
        ("assertAlmostEqual(pay(WEEKS[2]), 372.6)", 'assertEqual(pay(WEEKS[2]), Money.of("372.60"))'),
        (
            '{"2026-03": 1486.6, "2026-04": 372.6}',
            '{"2026-03": Money.of("1486.60"), "2026-04": Money.of("372.60")}',
        ),
        (
            "assertAlmostEqual(average_hour(WEEKS), 18.52)",
            'assertEqual(average_hour(WEEKS), Money.of("18.52"))',
        ),
        ("assertEqual(average_hour([]), 0.0)", "assertEqual(average_hour([]), ZERO)"),
    ),
)
EXCHANGE = (
    edits(
        "atelier/exchange/service.py",
        (
            '"""Other people\'s money. A rate says how much of the other currency one euro buys."""\n\n'
            "from shared.errors import BadInput\n",
            '"""Other people\'s money. A rate says how much of the other currency one euro buys.\n\n'
            "Euros are `Money`; amounts in another currency are floats, since not every currency has cents.\n"
            '"""\n\nfrom shared.errors import BadInput\nfrom shared.money import Money\n',
        ),
        (
            "def to_euros(amount: float, currency: str) -> float:",
            "def to_euros(amount: float, currency: str) -> Money:",
        ),
        ("return round(amount / rate(currency), 2)", "return Money(round(100 * amount / rate(currency)))"),
        (
            "def from_euros(amount: float, currency: str) -> float:",
            "def from_euros(amount: Money, currency: str) -> float:",
        ),
        ("round(amount * rate(currency), digits)", "round(amount.cents / 100 * rate(currency), digits)"),
        (
            "def charge(amount: float, percent: float = 1.5, least: float = 2.0) -> float:\n"
            '    """What the bank takes for changing an amount in euros."""\n'
            "    return round(max(amount * percent / 100, least), 2)",
            'def charge(amount: Money, percent: float = 1.5, least: Money = Money.of("2.00")) -> Money:\n'
            '    """What the bank takes for changing an amount in euros."""\n'
            "    return max(amount * (percent / 100), least)",
        ),
    ),
    edits(
        "atelier/tests/test_exchange.py",
        (
            "from shared.errors import BadInput\n",
            "from shared.errors import BadInput\nfrom shared.money import Money\n",
        ),
        (
            'assertAlmostEqual(to_euros(100.0, "CHF"), 106.15)',
            'assertEqual(to_euros(100.0, "CHF"), Money.of("106.15"))',
        ),
        (
            'assertAlmostEqual(to_euros(5000.0, "JPY"), 30.99)',
            'assertEqual(to_euros(5000.0, "JPY"), Money.of("30.99"))',
        ),
        ('from_euros(106.15, "CHF")', 'from_euros(Money.of("106.15"), "CHF")'),
        ('from_euros(30.99, "JPY")', 'from_euros(Money.of("30.99"), "JPY")'),
        (
            "assertAlmostEqual(charge(1000.0), 15.0)",
            'assertEqual(charge(Money.of("1000.00")), Money.of("15.00"))',
        ),
        ("assertAlmostEqual(charge(20.0), 2.0)", 'assertEqual(charge(Money.of("20.00")), Money.of("2.00"))'),
    ),
)
REPORTS = (
    edits(
        "atelier/reports/service.py",
        (
            "from shared.periods import quarter\n",
            "from shared.money import ZERO, Money\nfrom shared.periods import quarter\n",
        ),
        ("def totals(many: list) -> list[float]:", "def totals(many: list) -> list[Money]:"),
        (
            "-> dict[str, float]:\n    sums: dict[str, float] = {}",
            "-> dict[str, Money]:\n    sums: dict[str, Money] = {}",
        ),
        ("round(sums.get(key, 0.0) + amount, 2)", "sums.get(key, ZERO) + amount"),
        (
            'def median(many: list) -> float:\n    """0 for none."""\n'
            "    return round(statistics.median(totals(many)), 2) if many else 0.0",
            'def median(many: list) -> Money:\n    """`ZERO` for none; between two amounts, their mean to the even cent."""\n'
            "    return Money(round(statistics.median(one.cents for one in totals(many)))) if many else ZERO",
        ),
        ('f"{amount:.2f}"', "str(amount)"),
        (
            "    all_of_it = sum(totals(whole))\n"
            "    return round(100 * sum(totals(part)) / all_of_it, 1) if all_of_it else 0.0",
            "    all_of_it = sum(totals(whole), ZERO)\n"
            "    return round(100 * sum(totals(part), ZERO).cents / all_of_it.cents, 1) if all_of_it else 0.0",
        ),
    ),
    edits(
        "atelier/tests/test_reports.py",
        (
            "from reports.service import as_csv, by_quarter, median, share, totals\n",
            "from reports.service import as_csv, by_quarter, median, share, totals\nfrom shared.money import ZERO, Money\n",
        ),
        ("goods=0.1)", 'goods=Money.of("0.10"))'),
        ("net=0.2)", 'net=Money.of("0.20"))'),
        ("goods=19.99, shipping=4.9)", 'goods=Money.of("19.99"), shipping=Money.of("4.90"))'),
        (
            "totals(MANY), [0.1, 0.2, 24.89])",
            'totals(MANY), [Money.of("0.10"), Money.of("0.20"), Money.of("24.89")])',
        ),
        ('{"2026Q1": 0.3, "2026Q2": 24.89}', '{"2026Q1": Money.of("0.30"), "2026Q2": Money.of("24.89")}'),
        ("median(MANY), 0.2)", 'median(MANY), Money.of("0.20"))'),
        ("median(MANY[:2]), 0.15)", 'median(MANY[:2]), Money.of("0.15"))'),
        ("median([]), 0.0)", "median([]), ZERO)"),
    ),
)


def split(name: str) -> Call:
    entity = ENTITIES[name]
    return edits(
        f"atelier/{name}/service.py",
        (
            f'def instalments({entity}: {entity.title()}, parts: int) -> list[float]:\n    """The total in equal parts."""\n'
            f"    share = round(total({entity}) / parts, 2)\n    return [share] * parts\n",
            f"def instalments({entity}: {entity.title()}, parts: int) -> list[Money]:\n"
            '    """The total in parts that add up to it, the larger ones first."""\n'
            f"    return total({entity}).split(parts)\n",
        ),
    )


def exact(name: str) -> Call:
    return edits(
        f"atelier/tests/test_{name}.py",
        ("    def test_equal_instalments(self):", "    def test_instalments_add_up(self):"),
        (
            "instalments(self.one, 2), [11.2, 11.2])",
            'instalments(self.one, 2), [Money.of("11.20"), Money.of("11.19")])',
        ),
        (
            "assertAlmostEqual(sum(instalments(self.one, 3)), 22.39, places=1)",
            "assertEqual(sum(instalments(self.one, 3), ZERO), total(self.one))",
        ),
        ("from shared.money import Money\n", "from shared.money import ZERO, Money\n"),
    )


OTHERS = [name for name in NAMES if name not in ("orders", "loans")]

STEPS = (
    User(
        "Please carry out decision 14 (docs/money.md) in the whole of /workspace/atelier, as CONTRIBUTING.md wants it done. "
        "Nothing may change for the programs that use our API, and files that exist must stay readable. I'll review it "
        "department by department, so show me nothing that you have not looked at yourself."
    ),
    Say(
        "I'll read the decision and the rules, and see how large the house is.",
        read("atelier/docs/money.md"),
        read("atelier/CONTRIBUTING.md"),
        read("atelier/README.md"),
        bash(
            "cd /workspace/atelier && find . -name '*.py' | sort && cp -r . /tmp/before",
            "List all modules and keep a copy",
        ),
        reasoning="The user asks for a cross-cutting change. Before planning I need the decision itself, the rules for such "
        "changes, and the size of the code base. A copy of the original lets me show differences later, since there is no "
        "git repository.",
    ),
    Say(
        "",
        todo(*TODOS, done=0),
        tests(),
        grep(r"\bfloat\b|round\(", "atelier", output_mode="count", glob="*.py"),
    ),
    Say(
        "Everything passes before the change. Every line that has to do with it:",
        grep(
            r"\bfloat\b|round\(|\b0\.0\b|:\.2f", "atelier", output_mode="content", glob="*.py", **{"-n": True}
        ),
        reasoning="141 tests pass, so they are a baseline. Counts differ little between departments, which suggests that "
        "they really are built alike; the lines themselves will show where they are not.",
    ),
    Say(
        "The departments repeat one pattern. The four that do not I leave to an agent of its own, with the question which "
        "floats there are no money; meanwhile I read one department as a whole.",
        task(
            "Floats that are no money",
            "In /workspace/atelier amounts of money (float euros) will be replaced by a Money type (docs/money.md). The 18 "
            "departments are built alike; `taxes`, `payroll`, `exchange` and `reports` are not. Find every float there, and "
            "any in shared/, that is NOT an amount in euros (rates, hours, percentages, foreign amounts), and everything "
            "whose meaning is not clear from its name. Report with paths and lines, and who imports these modules.",
            EXPLORE,
        ),
        *department("orders"),
        reasoning="The search for non-money floats needs several files that I do not have to keep in mind in full; a "
        "subagent can do that. I need one department completely, to know what a conversion involves.",
    ),
    Say(
        "Are the others really the same? I replace each department's own names by common ones and count the forms that "
        "remain; and I read one of each rule.",
        write("atelier/forms.py", text("forms.py")),
        bash("python3 forms.py && rm forms.py", "Count the different forms of each module"),
        read("atelier/loans/service.py"),
        read("atelier/invoices/service.py"),
        read("atelier/parcels/service.py"),
        read("atelier/docs/loans.md"),
    ),
    Compact(SUMMARY),
    Say(
        "I go on with `shared/money.py` and its tests.",
        read("atelier/shared/files.py"),
        write("atelier/shared/money.py", text("money.py")),
        write("atelier/tests/test_money.py", text("test_money.py")),
        tests("tests.test_money"),
        todo(*TODOS, done=1),
        reasoning="Design: frozen ordered dataclass with cents. of() through Decimal so that '0.005' is refused and '1e2' is "
        "taken for what it is. __mul__ takes a number; repr of a float into Decimal keeps 0.125 exact and 0.1 as meant. "
        "NotImplemented for foreign types gives TypeError, and sum() without a start fails on purpose: 0 + Money.",
    ),
    Say(
        "`-0.05` is written `-1.95`: `//` and `%` round down for negative numbers. The sign belongs in front.",
        edit(
            "atelier/shared/money.py",
            '        return f"{self.cents // 100}.{self.cents % 100:02}"',
            "        whole, rest = divmod(abs(self.cents), 100)\n        return f\"{'-' * (self.cents < 0)}{whole}.{rest:02}\"",
        ),
        tests("tests.test_money"),
    ),
    Say(
        "`orders` by hand, to have the pattern that the script must reproduce.",
        *(read(f"atelier/orders/{part}.py") for part in PARTS),
        read("atelier/tests/test_orders.py"),
        todo(*TODOS, done=2),
    ),
    Say("", *ORDERS, tests("tests.test_orders")),
    Say(
        "The pattern holds. The script for the others, tried on `loans`, one of those with instalments:",
        write("atelier/convert.py", text("convert.py")),
        bash("python3 convert.py loans", "Convert one department"),
        difference("loans"),
        tests("tests.test_loans"),
        todo(*TODOS, done=3),
        reasoning="Regular expressions per kind of module are enough, since the forms are identical up to names. What the "
        "script must not touch: rates (positional 12.5 in tests, `rate: float`), and instalments, which need split() and "
        "are done by hand. It refuses nothing, so the difference has to be read, and I compare orders: converting the "
        "original orders by the script must give what I wrote by hand.",
    ),
    Say(
        "As intended: everything but the instalments, which are the next point. A proof for the script: from the original "
        "`orders` it must make exactly what I wrote by hand.",
        bash(
            "mkdir -p /tmp/proof/tests && cp -r /tmp/before/orders /tmp/proof/ && cp /tmp/before/tests/test_orders.py /tmp/proof/tests/ "
            "&& (cd /tmp/proof && python3 /workspace/atelier/convert.py orders) "
            "&& diff -r -x __pycache__ orders /tmp/proof/orders && diff tests/test_orders.py /tmp/proof/tests/test_orders.py && echo the same",
            "Compare the script's orders with mine",
        ),
    ),
    Say(
        "The same, to the byte. All the others:",
        bash(f"python3 convert.py {' '.join(OTHERS)} && rm convert.py", "Convert the other departments"),
        tests(),
    ),
    Say(
        "Ten errors, all expected: five departments with instalments, and `reports`, which adds up what it gets. The "
        "instalments, with tests that are exact now:",
        *(split(name) for name in INSTALMENTS),
        *(exact(name) for name in INSTALMENTS),
        tests(" ".join(f"tests.test_{name}" for name in INSTALMENTS)),
        todo(*TODOS, done=4),
    ),
    Say(
        "They add up. Now the four by hand; `taxes` and `payroll` first.",
        *(
            read(f"atelier/{path}.py")
            for path in ("taxes/models", "taxes/service", "payroll/models", "payroll/service")
        ),
        read("atelier/tests/test_taxes.py"),
        read("atelier/tests/test_payroll.py"),
        todo(*TODOS, done=5),
    ),
    Say(
        "Rates, hours and the factor for overtime stay floats. In `pay` I multiply the rate for an hour once, so that it "
        "is rounded once.",
        *TAXES,
        *PAYROLL,
        tests("tests.test_taxes tests.test_payroll"),
        reasoning="pay: hourly * (normal + extra * overtime) rounds once instead of twice. 18.40 * (38.5 + 2.5 * 1.25) = "
        "18.40 * 41.625 = 765.90, plus 12.30 is 778.20, as the test says. average_hour: cost * (1 / hours).",
    ),
    Say(
        "",
        read("atelier/exchange/service.py"),
        read("atelier/reports/service.py"),
        read("atelier/tests/test_exchange.py"),
        read("atelier/tests/test_reports.py"),
    ),
    Say(
        "Amounts in other currencies are no euros, so they stay floats, and the module says so. The median of an even "
        "number of amounts can fall between two cents; it goes to the even one.",
        *EXCHANGE,
        *REPORTS,
        tests(),
    ),
    Say(
        "All pass. Nothing goes out that I have not looked at: every difference with what stands around it, two departments "
        "at a time.",
        *(difference(*NAMES[at : at + 2]) for at in (0, 2, 4)),
        todo(*TODOS, done=6),
    ),
    Say("", *(difference(*NAMES[at : at + 2]) for at in (6, 8, 10))),
    Say("", *(difference(*NAMES[at : at + 2]) for at in (12, 14, 16))),
    Say("And those by hand.", difference("taxes", "payroll"), difference("exchange", "reports")),
    Say(
        "Differences show what has changed, not what is there now. Every use of the new names at once: an import that "
        "nobody needs, or an amount made from a float, would stand out.",
        grep(r"\b(Money|ZERO|stored|cents)\b", "atelier", output_mode="content", glob="*.py", **{"-n": True}),
    ),
    Say(
        "The script did the same everywhere, and imports are in their place. What is left: the comments that still speak "
        "of euros where there are cents, the pages of the departments with instalments, and the README.",
        grep(r"do not always add up|in euros|\bfloat\b", "atelier", output_mode="content", **{"-n": True}),
        read("atelier/docs/loans.md"),
    ),
    Say(
        "Floats that remain are rates, hours, percentages and foreign amounts. The five pages:",
        bash(
            "sed -i 's/ They do not always add up to it; see issue [0-9]*\\./ They add up to it, the larger ones first./' docs/*.md "
            "&& grep -h instalments docs/*.md",
            "Correct what the pages say about instalments",
        ),
        edit(
            "atelier/README.md",
            "`api.py` (for other programs), `table.py` (for people), a test and a page in `docs/`.\n",
            "`api.py` (for other programs), `table.py` (for people), a test and a page in `docs/`.\n\n"
            "Amounts of money are `Money` from `shared/money.py`: whole cents, never floats (`docs/money.md`).\n",
        ),
    ),
    Say(
        'The README\'s line breaks before "for other programs": its old text begins on the line above. Once more, with the '
        "text as it is.",
        read("atelier/README.md"),
    ),
    Say(
        "",
        edit(
            "atelier/README.md",
            "(for other programs), `table.py` (for people), a test and a page in `docs/`.\n",
            "(for other programs), `table.py` (for people), a test and a page in `docs/`.\n\n"
            "Amounts of money are `Money` from `shared/money.py`: whole cents, never floats (`docs/money.md`).\n",
        ),
        bash(text("old_files.sh"), "Write files with the old code, read them with the new, compare the API"),
        tests(),
    ),
    Say(
        "Decision 14 is carried out; all 149 tests pass.\n\n"
        "- `shared/money.py` has `Money`, `ZERO` and `stored`; 8 tests.\n"
        "- 18 departments: `orders` by hand, the other 17 by a script that made the same of `orders` as I did, to the byte. "
        "I have read every difference.\n"
        "- Instalments of `loans`, `leases`, `events`, `donations` and `commissions` add up now; their issues can be closed.\n"
        "- `taxes`, `payroll`, `exchange`, `reports` by hand. Floats that remain are rates, hours, percentages and amounts in "
        "other currencies.\n"
        "- Files written by the old code are read, and all 18 APIs answer the same bytes as before.\n\n"
        "For your review: `payroll.pay` rounds once where it rounded twice, and the median between two amounts goes to the "
        "even cent."
    ),
)

SESSION = Session(
    name="long-context-refactor",
    title="Amounts of money become whole cents, in 160 files",
    agent="claude-code",
    system=system_prompt("atelier"),
    agent_system=AGENT_SYSTEM,
    tools=TOOLS,
    kit=KIT,
    steps=STEPS,
    check=(
        "sh",
        "-c",
        "cd atelier && python3 -m unittest discover -s tests -t . && ! grep -rn 'amount: float' taxes",
    ),
    purpose="Long context: large results, a compaction, a subagent, recorded thoughts; prefix reuse and KV pools.",
)
