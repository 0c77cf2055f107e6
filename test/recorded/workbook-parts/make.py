"""Makes the workbooks of this folder: python3 make.py (Debian's python3-xlsxwriter and python3-openpyxl)."""

import datetime
import struct
import zlib

import openpyxl
import openpyxl.chart
import openpyxl.comments
import openpyxl.worksheet.table
import xlsxwriter

ROWS = [("2026-01", 4, 120.0), ("2026-02", 7, 95.5), ("2026-03", 5, 101.25)]
MADE_AT = datetime.datetime(2026, 1, 1)


def png():
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + b"\x20\x60\xa0" * 8 for _ in range(8)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def by_xlsxwriter():
    """The table `created` in A4:C8 (data 5–7, totals 8); below it formulas, a table that is not bound, and drawings."""
    book = xlsxwriter.Workbook("xlsxwriter.xlsx")
    book.set_properties({"created": MADE_AT})
    sheet = book.add_worksheet("Board pack")
    front = book.add_worksheet("Front")
    sheet.add_table(
        "A4:C8",
        {
            "name": "created",
            "total_row": True,
            "columns": [
                {"header": "bucket", "total_string": "Total"},
                {"header": "onboarding.profiles.created", "total_function": "sum"},
                {"header": "Share", "formula": "=[@[onboarding.profiles.created]]/'Board pack'!$F$20"},
            ],
        },
    )
    for row, (bucket, count, _) in enumerate(ROWS, start=4):
        sheet.write_string(row, 0, bucket)
        sheet.write_number(row, 1, count)
    sheet.write_formula("F20", "=SUM(B5:B7)", None, 16)
    sheet.add_table("E22:F24", {"name": "Notes_2", "data": [["a", 1], ["b", 2]], "columns": [{"header": "Who"}, {"header": "n"}]})
    sheet.write_comment("B6", "Sample", {"author": "board"})
    sheet.write_comment("B8", "Total of all months", {"author": "board"})
    sheet.write_comment("F20", "Beside the sum", {"author": "board", "visible": True})
    sheet.insert_button("H12", {"caption": "Refresh"})
    picture = __import__("io").BytesIO(png())
    sheet.insert_image("H20", "logo.png", {"image_data": picture, "url": "internal:'Board pack'!F20", "object_position": 2})
    sheet.insert_textbox("J20", "", {"textlink": "='Board pack'!$F$20", "object_position": 1})
    sheet.insert_textbox("J2", "Fixed", {"object_position": 3})

    line = book.add_chart({"type": "line"})
    line.add_series(
        {
            "name": "='Board pack'!$B$4",
            "categories": "='Board pack'!$A$5:$A$7",
            "values": "='Board pack'!$B$5:$B$7",
            "data_labels": {"value": True, "custom": [{"value": "='Board pack'!$F$20"}]},
            "y_error_bars": {"type": "custom", "plus_values": "='Board pack'!$C$5:$C$7", "minus_values": [1, 1, 1]},
        }
    )
    line.set_title({"name": "='Board pack'!$F$20"})
    sheet.insert_chart("E2", line, {"object_position": 1})
    static = book.add_chart({"type": "pie"})
    static.add_series({"categories": "='Board pack'!$E$23:$E$24", "values": "='Board pack'!$F$23:$F$24"})
    sheet.insert_chart("E30", static, {"object_position": 2})
    front.write_number("A1", 1)
    front.write_number("A2", 2)
    other = book.add_chart({"type": "column"})
    other.add_series({"values": "=Front!$A$1:$A$2"})
    front.insert_chart("C3", other)

    book.define_name("AllCreated", "='Board pack'!$B$5:$B$7")
    book.define_name("Sum", "='Board pack'!$F$20")
    book.define_name("'Board pack'!Local", "='Board pack'!$B$7")
    sheet.print_area("A1:F24")
    sheet.repeat_rows(3)
    book.close()


def by_openpyxl():
    """The table `created` in A1:B4, without totals; a comment below it and a chart that moves with its cells."""
    book = openpyxl.Workbook()
    book.properties.created = book.properties.modified = MADE_AT
    sheet = book.active
    sheet.title = "Data"
    sheet.append(["bucket", "created"])
    for bucket, count, _ in ROWS:
        sheet.append([bucket, count])
    sheet.add_table(openpyxl.worksheet.table.Table(displayName="created", ref="A1:B4"))
    sheet["A6"] = "=SUM(created[created])"
    sheet["A6"].comment = openpyxl.comments.Comment("All of them", "board")
    chart = openpyxl.chart.BarChart()
    chart.add_data(openpyxl.chart.Reference(sheet, min_col=2, min_row=1, max_row=4), titles_from_data=True)
    chart.set_categories(openpyxl.chart.Reference(sheet, min_col=1, min_row=2, max_row=4))
    sheet.add_chart(chart, "D8")
    book.save("openpyxl.xlsx")


by_xlsxwriter()
by_openpyxl()
