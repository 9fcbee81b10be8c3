"""Tables for the terminal."""

from collections.abc import Sequence


def text_table(rows: Sequence[Sequence], *, right: Sequence[int] = ()) -> str:
    """Lay out rows in columns, the first row as the heading.

    Args:
        rows: Values that `str` can write, equally many in each row.
        right: Columns whose values end at the same place, as numbers do.
    """
    rows = [[str(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            value.rjust(width) if place in right else value.ljust(width)
            for place, (value, width) in enumerate(
                zip(row, widths, strict=True)
            )
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
