"""Charts of the demo's workbook template, all in the same style."""

from styles import AMBER, COUNT, FONT, GREY, LINE, NAVY

SMALL = {"name": FONT, "size": 9, "color": GREY}
GRID = {"visible": True, "line": {"color": LINE}}


def axis(**own):
    return {"num_font": SMALL, "line": {"color": LINE}, "major_tick_mark": "none", **own}


def finish(chart, title, width, height, legend="bottom"):
    if title:
        chart.set_title({"name": title, "name_font": {"name": FONT, "size": 12, "color": NAVY}})
    else:
        chart.set_title({"none": True})
    chart.set_legend({"position": legend, "font": SMALL} if legend else {"none": True})
    chart.set_chartarea({"border": {"color": LINE}})
    chart.set_size({"width": width, "height": height})
    return chart


def bar(name, categories, values, color, **own):
    return {"name": name, "categories": categories, "values": values, "fill": {"color": color}, "border": {"none": True}, **own}


def line(name, categories, values, color, **own):
    return {"name": name, "categories": categories, "values": values, "line": {"color": color, "width": 2.25}, **own}


def marked(color):
    return {"marker": {"type": "circle", "size": 6, "fill": {"color": color}, "border": {"color": "#FFFFFF"}}}


def columns_and_line(workbook, columns, second, dates, second_axis):
    """Columns on the first axis, a line on the second. @param dates the number format of the categories"""
    chart = workbook.add_chart({"type": "column"})
    for series in columns:
        chart.add_series({**series, "gap": 60, "overlap": -5})
    other = workbook.add_chart({"type": "line"})
    other.add_series({**second, "y2_axis": True, **marked(AMBER)})
    chart.combine(other)
    chart.set_x_axis(axis(num_format=dates, text_axis=True))
    chart.set_y_axis(axis(num_format=COUNT, min=0, major_gridlines=GRID, line={"none": True}))
    other.set_y2_axis(axis(line={"none": True}, **second_axis))
    return chart
