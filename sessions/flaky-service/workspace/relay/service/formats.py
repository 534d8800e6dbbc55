"""Rows of an order file: `order;customer;article;quantity`, with a header line."""

import csv
from pathlib import Path


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=";"))


def order(row: dict[str, str]) -> dict[str, object]:
    """Raises ValueError where a row makes no sense."""
    if not row["order"]:
        raise ValueError("no order number")
    quantity = int(row["quantity"])
    if quantity < 1:
        raise ValueError("quantity below 1")
    return {"order": row["order"], "article": row["article"], "quantity": quantity}
