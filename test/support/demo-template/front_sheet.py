"""The first sheet: only named cells, and charts of the tables on the other sheets."""

from charts import bar, columns_and_line, finish, line
from styles import AMBER, COUNT, GREY, GROWTH, HOURS, LINE, NAVY, PALE, PAPER, POINTS, RED, SHARE, TEAL
from table_sheets import risk_chart
from tables import cells
from xlsxwriter.utility import xl_rowcol_to_cell

SHEET = "Board"
# Label; metric with its sample; number format; change and its format; target; what is below, with its name and sample; the
# column of the small chart.
TILES = (
    ("Clients created", "profiles.created", 120, COUNT, 0.05, GROWTH, 100, ("decided", "profiles.decided", 118, COUNT), "C"),
    ("Approval rate", "profiles.approval_rate", 0.9, SHARE, 1.5, POINTS, 0.9, ("in the year so far", "profiles.approval_rate.to_date", 0.89, SHARE), "E"),
    ("Median time to decision", "profiles.time_to_decision_p50", 30, HOURS, -0.1, GROWTH, 30, ("nine in ten, at most", "profiles.time_to_decision_p90", 90, '0" h"'), "F"),
    ("Requests answered", "rfis.response_rate", 0.85, SHARE, -0.5, POINTS, 0.8, ("requests sent", "rfis.sent", 30, COUNT), "G"),
)
BACKLOG = (
    ("Awaiting a decision", "profiles.pending_review"),
    ("Overdue reviews", "reviews.overdue"),
    ("Open alerts", "alerts.open"),
    ("Overdue requests", "rfis.overdue"),
)
STATUSES = (("on target", "#D4EDDA", "#14532D"), ("watch", "#FDECC8", "#7A4F00"), ("breached", "#F8D7DA", "#842029"))


def add_front_sheet(workbook, style, name, logo):
    """Adds the first sheet. @param name defines a name for a cell of this sheet"""
    sheet = workbook.add_worksheet(SHEET)
    sheet.hide_gridlines(2)
    sheet.set_column("A:A", 1.5)
    sheet.set_column("B:M", 9.6)
    sheet.set_column("N:N", 1.5)
    add_head(sheet, style, name, logo)
    for row, height in ((4, 6), (5, 20), (6, 34), (7, 17), (8, 17), (9, 17), (10, 24), (11, 8)):
        sheet.set_row(row, height)
    for index, tile in enumerate(TILES):
        add_tile(workbook, sheet, style, name, 1 + 3 * index, tile)
    add_charts(workbook, sheet)
    add_headlines(sheet, style, name)
    add_backlog(sheet, style, name)
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.7)
    sheet.fit_to_pages(1, 1)
    sheet.center_horizontally()
    sheet.print_area("A1:N35")
    sheet.set_footer("&L&9Board workbook&C&9Confidential&R&9Page &P of &N")
    return sheet


def add_head(sheet, style, name, logo):
    for row, height in ((0, 8), (1, 32), (2, 18), (3, 8)):
        sheet.set_row(row, height)
    sheet.merge_range("B2:I2", "Title of the report", style(bold=True, font_size=24))
    name("docket.title", "B2")
    sheet.merge_range("B3:D3", "Organization", style(font_size=12, font_color=TEAL, bold=True))
    name("docket.org", "B3")
    sheet.merge_range("E3:F3", "2025-03", style(font_size=12, font_color=GREY))
    name("docket.period.label", "E3")
    sheet.merge_range("G3:I3", "Classification", style(font_size=12, font_color=RED, bold=True))
    name("docket.classification", "G3")
    place = {"x_scale": 0.42, "y_scale": 0.42, "x_offset": 40, "object_position": 3, "description": "Acme Payments"}
    sheet.insert_image("K2", str(logo), place)
    for column in range(1, 13):
        sheet.write_blank(3, column, None, style(bottom=2, bottom_color=NAVY))


def add_tile(workbook, sheet, style, name, left, tile):
    label, metric, sample, number, change, change_format, target, (below, other, other_sample, other_format), column = tile
    right = left + 2
    of = "docket.scorecard."
    figure = {"bold": True, "align": "left", "indent": 1, "bg_color": PAPER}
    small = {"font_color": GREY, "font_size": 9, "bg_color": PAPER, "right": 5, "right_color": "#FFFFFF"}
    sheet.merge_range(5, left, 5, right, label, style(**{**small, "font_size": 10, "bold": True, "indent": 1}))
    sheet.merge_range(6, left, 6, left + 1, sample, style(**figure, font_size=22, num_format=number))
    name(of + metric, xl_rowcol_to_cell(6, left))
    sheet.write(6, right, "status", style(**small, align="center"))
    name(f"{of}{metric}.status", xl_rowcol_to_cell(6, right))
    lines = (
        (f"{metric}.change", change, change_format, "on the month before"),
        (f"{metric}.target", target, number, "target"),
        (other, other_sample, other_format, below),
    )
    for row, (asked, value, form, text) in enumerate(lines, 7):
        sheet.write(row, left, value, style(**figure, num_format=form))
        name(of + asked, xl_rowcol_to_cell(row, left))
        sheet.merge_range(row, left + 1, row, right, text, style(**small))
    for between in range(left, right):
        sheet.write_blank(10, between, None, style(bg_color=PAPER))
    sheet.write_blank(10, right, None, style(**small))
    spark = {"range": cells("Trend", column, 6, 8), "series_color": TEAL, "last_point": True, "last_color": AMBER, "weight": 2}
    sheet.merge_range(10, left, 10, right, "", style(**small))
    sheet.add_sparkline(10, left, spark)
    for text, color, font in STATUSES:
        form = workbook.add_format({"bg_color": color, "font_color": font, "bold": True})
        rule = {"type": "cell", "criteria": "==", "value": f'"{text}"', "format": form}
        sheet.conditional_format(6, right, 6, right, rule)


def add_charts(workbook, sheet):
    months = "=" + cells("Trend", "B", 6, 8)
    created = bar("=Trend!$C$5", months, "=" + cells("Trend", "C", 6, 8), TEAL)
    decided = bar("=Trend!$D$5", months, "=" + cells("Trend", "D", 6, 8), PALE)
    rate = line("=Trend!$E$5", months, "=" + cells("Trend", "E", 6, 8), AMBER)
    chart = columns_and_line(workbook, (created, decided), rate, "mmm yy", {"num_format": "0%", "min": 0.5, "max": 1})
    finish(chart, "Clients by month", 560, 300)
    text = "Clients created and decided, and the approval rate, by month"
    sheet.insert_chart("B13", chart, {"object_position": 3, "description": text})
    place = {"object_position": 3, "y_offset": 4, "description": "Decisions by risk"}
    sheet.insert_chart("B26", risk_chart(workbook, 560, 190), place)


def add_headlines(sheet, style, name):
    sheet.merge_range("J13:M13", "Headlines", style(bold=True, font_size=12, bottom=1, bottom_color=LINE))
    for index in range(5):
        row = 13 + 2 * index
        sheet.merge_range(row, 9, row + 1, 12, f"Headline {index + 1}", style(text_wrap=True, valign="top"))
        sheet.set_row(row, 19)
        sheet.set_row(row + 1, 19)
        name(f"docket.headline.{index + 1}", xl_rowcol_to_cell(row, 9))


def add_backlog(sheet, style, name):
    head = style(bold=True, font_size=12, bottom=1, bottom_color=LINE)
    row = 24
    sheet.merge_range(row, 9, row, 12, "Backlog at the end of the month", head)
    for index, (label, metric) in enumerate(BACKLOG, 1):
        sheet.merge_range(row + index, 9, row + index, 10, label, style(font_color=GREY))
        sheet.write(row + index, 11, 10, style(num_format=COUNT, bold=True, align="right"))
        name(f"docket.workload.{metric}", xl_rowcol_to_cell(row + index, 11))
        sheet.write(row + index, 12, 0.1, style(num_format=GROWTH, align="right", font_color=GREY))
        name(f"docket.workload.{metric}.change", xl_rowcol_to_cell(row + index, 12))
    icons = [{"criteria": ">=", "type": "number", "value": value} for value in (0.02, -0.02)]
    rule = {"type": "icon_set", "icon_style": "3_traffic_lights", "reverse_icons": True, "icons": icons}
    sheet.conditional_format(row + 1, 12, row + len(BACKLOG), 12, rule)
    sheet.merge_range(30, 9, 30, 12, "Data", head)
    sheet.merge_range(31, 9, 32, 12, "Completeness of the figures", style(text_wrap=True, valign="top", font_color=GREY))
    name("docket.completeness", xl_rowcol_to_cell(31, 9))
    sheet.merge_range(33, 9, 33, 10, "Made", style(font_color=GREY))
    sheet.merge_range(33, 11, 33, 12, 45747.5, style(num_format="d mmm yyyy hh:mm", align="right"))
    name("docket.made_at", xl_rowcol_to_cell(33, 11))
