"""A table of Excel with its samples, calculated columns and totals row, drawn so that it needs no table style."""

from collections import namedtuple

from styles import LINE, NAVY

# header; number format; calculated: the formula of a calculated column; total: a function, or the label of the totals row
Column = namedtuple("Column", "header number calculated total", defaults=(None, None, None))
# The function numbers of SUBTOTAL that skip rows hidden by a filter.
FUNCTIONS = {"sum": 109, "average": 101}


def add_table(sheet, style, name, row, columns, rows, results):
    """
    Adds a table from column B on, whose header is in `row` (from 0).
    @param rows the samples of the columns that are not calculated
    @param results of formulas, for programs that do not calculate: by (row of the table, column); -1 is the totals row
    """
    head = style(bold=True, font_color="#FFFFFF", bg_color=NAVY, text_wrap=True, align="center")
    totals = any(column.total for column in columns)
    last = row + len(rows) + (1 if totals else 0)
    described = []
    for column in columns:
        entry = {"header": column.header, "header_format": head, "format": body(style, column)}
        if column.calculated:
            entry["formula"] = f"={column.calculated}"
        if column.total in FUNCTIONS:
            entry["total_function"] = column.total
        elif column.total:
            entry["total_string"] = column.total
        described.append(entry)
    data = [[next(own) if column.calculated is None else None for column in columns] for own in map(iter, rows)]
    sheet.add_table(
        row,
        1,
        last,
        len(columns),
        {"name": name, "style": None, "autofilter": False, "total_row": totals, "columns": described, "data": data},
    )
    for index, column in enumerate(columns):
        if column.calculated:
            # As Excel writes it in cells.
            formula = column.calculated.replace("@", "[#This Row],")
            for line in range(len(rows)):
                sheet.write_formula(row + 1 + line, 1 + index, f"={formula}", body(style, column), results[line, index])
        if totals:
            add_total(sheet, style, name, last, index, column, results.get((-1, index)))
    return last


def body(style, column):
    number = {"num_format": column.number} if column.number else {}
    return style(bottom=1, bottom_color=LINE, **number)


def add_total(sheet, style, name, row, index, column, result):
    number = {"num_format": column.number} if column.number else {}
    form = style(bold=True, top=1, top_color=NAVY, **number)
    if column.total in FUNCTIONS:
        sheet.write_formula(
            row, 1 + index, f"=SUBTOTAL({FUNCTIONS[column.total]},{name}[{column.header}])", form, result
        )
    else:
        sheet.write(row, 1 + index, column.total or "", form)


def cells(sheet_name, column, first, last):
    """`Trend!$C$6:$C$8`, of rows from 1 on"""
    return f"{sheet_name}!${column}${first}:${column}${last}"
