"""Tables of text, with amounts to the right."""


def table(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(head, *rows, strict=True)]
    lines = []
    for row in [head, *rows]:
        cells = (
            cell.rjust(width) if is_amount(cell) else cell.ljust(width)
            for cell, width in zip(row, widths, strict=True)
        )
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def is_amount(cell: str) -> bool:
    return cell.replace(".", "", 1).replace("-", "", 1).isdecimal()
