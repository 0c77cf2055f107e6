"""The sheets with tables: months, groups and risks, alerts. Their rows are samples that a run replaces."""

from datetime import date

from charts import GRID, SMALL, axis, bar, columns_and_line, finish, line
from styles import AMBER, COUNT, DAY, FONT, GREY, HOURS, MONTH, NAVY, PALE, SHARE, TEAL
from tables import Column, add_table, cells

# The rows behind the pivot table: all risks, in the order in which it shows them.
RISK_ROWS = (
    ("Low", "Individual", 90, 0.95, 20),
    ("Medium", "Entity", 20, 0.9, 40),
    ("High", "Individual", 10, 0.6, 60),
    ("Severe", "Entity", 5, 0.4, 80),
)
DECIDED_LATE = {"font_color": "#842029", "bold": True}


def open_sheet(workbook, style, name, title, note):
    sheet = workbook.add_worksheet(name)
    sheet.hide_gridlines(2)
    sheet.set_column("A:A", 1.5)
    sheet.set_row(1, 28)
    sheet.write("B2", title, style(bold=True, font_size=18))
    sheet.write("B3", note, style(font_color=GREY))
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.7)
    sheet.fit_to_pages(1, 1)
    sheet.set_footer("&L&9&A&C&9Confidential&R&9Page &P of &N")
    return sheet


def arrows(upper, lower):
    icons = [{"criteria": ">=", "type": "number", "value": value} for value in (upper, lower)]
    return {"type": "icon_set", "icon_style": "3_arrows", "icons": icons}


BARS = {"type": "data_bar", "bar_color": PALE, "bar_solid": True, "min_type": "num", "min_value": 0, "data_bar_2010": True}


def add_trend_sheet(workbook, style):
    sheet = open_sheet(workbook, style, "Trend", "Thirteen months", "Each month that has ended, with the decisions made in it.")
    sheet.set_column("B:B", 13)
    sheet.set_column("C:I", 12.5)
    sheet.set_row(4, 32)
    columns = (
        Column("Month", MONTH, total="All months"),
        Column("Profiles created", COUNT, total="sum"),
        Column("Profiles decided", COUNT, total="sum"),
        Column("Approval rate", SHARE),
        Column("Median time to decision (h)", HOURS),
        Column("RFI response rate", SHARE),
        Column("Alerts created", COUNT, total="sum"),
        # A column of this workbook only. Docket continues its formula in every row.
        Column("Decided of created", SHARE, "Months[@[Profiles decided]]/Months[@[Profiles created]]"),
    )
    rows = (
        (date(2025, 1, 1), 100, 96, 0.88, 36, 0.8, 50),
        (date(2025, 2, 1), 110, 108, 0.9, 33, 0.84, 55),
        (date(2025, 3, 1), 120, 118, 0.9, 30, 0.85, 52),
    )
    results = {(row, 7): own[2] / own[1] for row, own in enumerate(rows)}
    totals = {(-1, column): sum(own[column] for own in rows) for column in (1, 2, 6)}
    add_table(sheet, style, "Months", 4, columns, rows, {**results, **totals})
    sheet.conditional_format("C6:C8", BARS)
    sheet.conditional_format("E6:E8", {"type": "3_color_scale", "min_color": "#F8D7DA", "mid_color": "#FFFFFF", "max_color": "#D4EDDA"})
    target = "docket.scorecard.profiles.time_to_decision_p50.target"
    sheet.conditional_format("F6:F8", {"type": "cell", "criteria": ">", "value": target, "format": workbook.add_format(DECIDED_LATE)})
    sheet.conditional_format("I6:I8", arrows(1, 0.95))
    sheet.write_comment("F5", "Months above the target of the risk appetite, section 4, are red.", {"author": "Board office"})
    add_look_up(sheet, style)
    chart = workbook.add_chart({"type": "line"})
    months = cells("Trend", "B", 6, 8)
    trend = {"type": "linear", "name": "Trend", "line": {"color": GREY, "dash_type": "dash", "width": 1}}
    chart.add_series(line("=Trend!$F$5", f"={months}", f"={cells('Trend', 'F', 6, 8)}", NAVY, trendline=trend))
    chart.add_series(line("=Trend!$G$5", f"={months}", f"={cells('Trend', 'G', 6, 8)}", TEAL, y2_axis=True))
    chart.set_x_axis(axis(num_format="mmm yy", text_axis=True))
    chart.set_y_axis(axis(num_format='0" h"', min=0, major_gridlines=GRID, line={"none": True}))
    chart.set_y2_axis(axis(num_format="0%", max=1, line={"none": True}))
    finish(chart, "How fast we decide, and are answered", 755, 290)
    sheet.insert_chart("B15", chart, {"object_position": 2, "description": "Median time to decision and response rate by month"})
    sheet.freeze_panes(5, 2)
    sheet.repeat_rows(4)
    sheet.print_area("A1:J30")


def add_look_up(sheet, style):
    """Formulas below the table, with its name and with addresses: both follow the table when it grows."""
    label, month = style(font_color=GREY), style(bold=True, align="left", num_format=MONTH)
    count, hours = style(align="left", num_format=COUNT), style(align="left", num_format=HOURS)
    best = "INDEX(Months[Month],MATCH(MAX(Months[Profiles created]),Months[Profiles created],0))"
    sheet.write("B11", "Most clients", label)
    sheet.write_formula("C11", f"={best}", month, date_number(date(2025, 3, 1)))
    sheet.write_formula("D11", "=MAX(Months[Profiles created])", count, 120)
    sheet.write("B12", "Fastest", label)
    sheet.write_formula("C12", "=INDEX($B$6:$B$8,MATCH(MIN($F$6:$F$8),$F$6:$F$8,0))", month, date_number(date(2025, 3, 1)))
    sheet.write_formula("D12", "=MIN($F$6:$F$8)", hours, 30)
    sheet.write("B13", "Choose", label)
    sheet.write("C13", "latest", style(bold=True, align="left", num_format=MONTH, border=1, border_color=AMBER))
    sheet.data_validation("C13", {"validate": "list", "source": "=$B$6:$B$8", "error_type": "warning", "input_title": "A month", "input_message": "Choose one of the table."})
    chosen = 'IF(ISNUMBER(C13),SUMIFS(Months[Profiles created],Months[Month],C13),INDEX(Months[Profiles created],ROWS(Months[Month])))'
    sheet.write_formula("D13", f"={chosen}", count, 120)


def date_number(day):
    return (day - date(1899, 12, 30)).days


def add_mix_sheet(workbook, style):
    sheet = open_sheet(workbook, style, "Mix", "Who the clients are", "New clients by group, and decisions by risk and type.")
    sheet.set_column("B:C", 15)
    sheet.set_column("D:G", 12)
    sheet.set_column("H:H", 3)
    sheet.set_column("I:L", 10.5)
    sheet.set_row(4, 32)
    columns = (
        Column("Profile group", total="All groups"),
        Column("Profiles created", COUNT, total="sum"),
        Column("Approval rate", SHARE),
        Column("RFIs sent", COUNT, total="sum"),
        Column("RFI response rate", SHARE),
        Column("Share", SHARE, "groups[@[Profiles created]]/SUM(groups[Profiles created])", total="sum"),
    )
    rows = (("Group A", 80, 0.9, 20, 0.85), ("Group B", 40, 0.85, 10, 0.9))
    results = {(0, 5): 2 / 3, (1, 5): 1 / 3, (-1, 1): 120, (-1, 3): 30, (-1, 5): 1}
    add_table(sheet, style, "groups", 4, columns, rows, results)
    sheet.conditional_format("C6:C7", BARS)
    ring = workbook.add_chart({"type": "doughnut"})
    labels = {"percentage": True, "font": {"name": FONT, "size": 9, "color": "#FFFFFF", "bold": True}}
    points = [{"fill": {"color": color}} for color in (TEAL, NAVY, AMBER, "#7D8FA6", PALE)]
    ring.add_series(
        {"name": "=Mix!$C$5", "categories": "=Mix!$B$6:$B$7", "values": "=Mix!$C$6:$C$7", "data_labels": labels, "points": points}
    )
    ring.set_hole_size(55)
    finish(ring, "New clients by group", 320, 215, "right")
    sheet.insert_chart("I5", ring, {"object_position": 3, "description": "New clients by group"})
    add_risks(workbook, sheet, style)
    sheet.print_area("A1:M28")


def add_risks(workbook, sheet, style):
    """The second table of the sheet and its sums. Both move when the first table grows."""
    columns = (
        Column("Risk"),
        Column("Profile type"),
        Column("Profiles decided", COUNT),
        Column("Approval rate", SHARE),
        Column("Median time to decision (h)", HOURS),
    )
    rows = RISK_ROWS
    sheet.set_row(15, 32)
    add_table(sheet, style, "risk", 15, columns, rows, {})
    sheet.conditional_format("F17:F20", {"type": "2_color_scale", "min_color": "#FFFFFF", "max_color": "#F3C98B"})
    head = style(bold=True, bottom=1, bottom_color=NAVY)
    right = style(bold=True, bottom=1, bottom_color=NAVY, align="right")
    for column, text in enumerate(("Sum by risk", "Decisions", "Share", "Approved")):
        sheet.write(21, 1 + column, text, right if column else head)
    total = sum(decided for _, _, decided, _, _ in RISK_ROWS)
    for row, (risk, _, decisions, approved, _) in enumerate(RISK_ROWS, 23):
        share = decisions / total
        sheet.write(f"B{row}", risk, style())
        sheet.write_formula(f"C{row}", f"=SUMIFS(risk[Profiles decided],risk[Risk],B{row})", style(num_format=COUNT), decisions)
        sheet.write_formula(f"D{row}", f"=IFERROR(C{row}/SUM($D$17:$D$20),0)", style(num_format=SHARE), share)
        weighted = f"SUMPRODUCT(($B$17:$B$20=B{row})*$D$17:$D$20*$E$17:$E$20)"
        sheet.write_formula(f"E{row}", f'=IFERROR({weighted}/C{row},"")', style(num_format=SHARE), approved)
    sheet.insert_chart("I16", risk_chart(workbook, 320, 215), {"object_position": 2, "description": "Decisions by risk"})


def risk_chart(workbook, width, height):
    chart = workbook.add_chart({"type": "bar"})
    labels = {"value": True, "font": {**SMALL, "color": NAVY}}
    chart.add_series(bar("Decisions", "=Mix!$B$23:$B$26", "=Mix!$C$23:$C$26", TEAL, gap=45, data_labels=labels))
    # In a bar chart the x axis shows the values.
    chart.set_x_axis(axis(visible=False, major_gridlines={"visible": False}))
    chart.set_y_axis(axis(reverse=True, line={"none": True}))
    return finish(chart, "Decisions by risk", width, height, None)


def add_alerts_sheet(workbook, style):
    note = "Created, closed, and how the open ones have changed since the beginning of the month."
    sheet = open_sheet(workbook, style, "Alerts", "Alerts by week", note)
    sheet.set_column("B:B", 14)
    sheet.set_column("C:G", 13)
    sheet.set_row(4, 46)
    change = "+0;-0;0"
    columns = (
        Column("Week starting", DAY),
        Column("Alerts created", COUNT),
        Column("Alerts closed", COUNT),
        Column("Median time to close an alert (h)", HOURS),
        Column("More open", change, "alerts[@[Alerts created]]-alerts[@[Alerts closed]]"),
        # From the first row of the table to its own.
        Column("Since the beginning", change, "SUM(INDEX(alerts[More open],1):alerts[@[More open]])"),
    )
    rows = ((date(2025, 3, 3), 12, 10, 30), (date(2025, 3, 10), 14, 13, 28), (date(2025, 3, 17), 11, 14, 32))
    results = {(0, 4): 2, (1, 4): 1, (2, 4): -3, (0, 5): 2, (1, 5): 3, (2, 5): 0}
    add_table(sheet, style, "alerts", 4, columns, rows, results)
    for criteria, color in ((">", "#842029"), ("<", "#14532D")):
        rule = {"type": "cell", "criteria": criteria, "value": 0, "format": workbook.add_format({"font_color": color})}
        sheet.conditional_format("F6:F8", rule)
    form = style(bold=True, num_format=COUNT)
    sheet.write("B10", "All weeks", form)
    sheet.write_formula("C10", "=SUM(C6:C8)", form, 37)
    sheet.write_formula("D10", "=SUM(D6:D8)", form, 37)
    weeks = "=Alerts!$B$6:$B$8"
    created = bar("=Alerts!$C$5", weeks, "=Alerts!$C$6:$C$8", TEAL)
    closed = bar("=Alerts!$D$5", weeks, "=Alerts!$D$6:$D$8", PALE)
    hours = line("=Alerts!$E$5", weeks, "=Alerts!$E$6:$E$8", AMBER)
    chart = columns_and_line(workbook, (created, closed), hours, "d mmm", {"num_format": '0" h"', "min": 0})
    finish(chart, None, 570, 290)
    sheet.insert_chart("B12", chart, {"object_position": 2, "description": "Alerts by week"})
    sheet.freeze_panes(5, 2)
    sheet.print_area("A1:H27")
