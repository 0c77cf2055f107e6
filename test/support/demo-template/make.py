"""Writes jobs/demo/board.xlsx, the template of demo/board-book: /usr/bin/python3 test/support/demo-template/make.py

Needs XlsxWriter (Debian: python3-xlsxwriter), and writes the same bytes every time. People would design such a workbook
in Excel. A program makes this one so that changes can be reviewed.
"""

from datetime import datetime
from pathlib import Path

import xlsxwriter
from add_parts import PIVOT_CELLS, add_parts
from front_sheet import SHEET, add_front_sheet
from styles import COUNT, GREY, Styles
from table_sheets import add_alerts_sheet, add_mix_sheet, add_trend_sheet, open_sheet

FOLDER = Path(__file__).resolve().parents[3] / "jobs" / "demo"


def main():
    path = FOLDER / "board.xlsx"
    workbook = xlsxwriter.Workbook(str(path), {"default_date_format": "yyyy-mm-dd"})
    workbook.set_properties({"title": "Board workbook", "author": "Board office", "created": datetime(2026, 1, 5, 9, 0, 0)})
    style = Styles(workbook)

    def name(defined, cell):
        column, row = cell.rstrip("0123456789"), cell.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        workbook.define_name(defined, f"={SHEET}!${column}${row}")

    front = add_front_sheet(workbook, style, name, FOLDER / "logo.png")
    add_trend_sheet(workbook, style)
    add_mix_sheet(workbook, style)
    pivot = open_sheet(workbook, style, "Pivot", "Decisions by risk and type", "Refreshed when Excel opens the file. Drag fields to ask other questions.")
    pivot.set_column("B:F", 16)
    for row, values in enumerate(PIVOT_CELLS, 4):
        for column, value in enumerate(values, 1):
            if value is not None:
                pivot.write(row, column, value, style(num_format=COUNT))
    add_alerts_sheet(workbook, style)
    for sheet, color in zip(workbook.worksheets(), ("#0B6E69", "#1B2A41", "#1B2A41", "#1B2A41", "#1B2A41")):
        sheet.set_tab_color(color)
    front.activate()
    workbook.close()
    add_parts(path, pivot_sheet=4)


main()
