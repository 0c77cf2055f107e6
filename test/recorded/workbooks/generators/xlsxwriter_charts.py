"""Charts of XlsxWriter, over tables that grow."""
from design import design
from excel_writer import BUCKET, CREATED, RATE, TIME, Writer

TOOL = 'XlsxWriter'


def series(table, header, categories=BUCKET):
    return {
        'name': "='%s'!$%s$%d" % (table.sheet, table.letter(header), table.head),
        'categories': '=' + table.range(categories, sheet=True),
        'values': '=' + table.range(header, sheet=True),
    }


def chart_over(writer, sheet, table, kind, *headers, **at):
    chart = writer.book.add_chart(kind)
    for header in headers:
        chart.add_series(series(table, header))
    chart.set_title({'name': '=%s!$B$2' % table.sheet})
    sheet.insert_chart('B%d' % (table.below + 2), chart, at)
    return chart


@design(TOOL, 'line-chart', ['line chart', 'chart title from a cell'])
def line_chart(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    chart_over(writer, sheet, writer.usual(sheet), {'type': 'line'}, CREATED, TIME)
    writer.close()


@design(TOOL, 'bar-charts', ['bar chart'])
def bar_charts(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    chart_over(writer, sheet, table, {'type': 'bar', 'subtype': 'stacked'}, CREATED, TIME)
    other = writer.book.add_chart({'type': 'column'})
    # A point of its own look and a series over two columns of categories.
    other.add_series({**series(table, CREATED), 'points': [{'fill': {'color': 'red'}}], 'gap': 30,
                      'data_labels': {'value': True}})
    sheet.insert_chart('F%d' % (table.below + 2), other)
    writer.close()


@design(TOOL, 'combo-chart', ['combo chart', 'second axis'])
def combo_chart(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    columns = writer.book.add_chart({'type': 'column'})
    columns.add_series(series(table, CREATED))
    line = writer.book.add_chart({'type': 'line'})
    line.add_series({**series(table, RATE), 'y2_axis': True})
    columns.combine(line)
    sheet.insert_chart('B%d' % (table.below + 3), columns)
    writer.close()


@design(TOOL, 'scatter-chart', ['scatter chart', 'trendline', 'error bars'])
def scatter_chart(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    scatter = writer.book.add_chart({'type': 'scatter', 'subtype': 'straight_with_markers'})
    scatter.add_series({**series(table, TIME, CREATED), 'trendline': {'type': 'linear'},
                        'y_error_bars': {'type': 'custom', 'plus_values': '=' + table.range(TIME, sheet=True),
                                         'minus_values': '=' + table.range(CREATED, sheet=True),
                                         'plus_data': [row[3] for row in table.data],
                                         'minus_data': [row[1] for row in table.data]}})
    sheet.insert_chart('B%d' % (table.below + 1), scatter)
    writer.close()


@design(TOOL, 'round-charts', ['pie chart', 'radar chart', 'area chart'])
def round_charts(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    for index, kind in enumerate(['pie', 'doughnut', 'radar', 'area']):
        chart = writer.book.add_chart({'type': kind})
        chart.add_series(series(table, CREATED))
        sheet.insert_chart(table.below + 1 + index * 16, 1, chart)
    writer.close()


@design(TOOL, 'stock-chart', ['stock chart'])
def stock_chart(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    chart_over(writer, sheet, writer.usual(sheet), {'type': 'stock'}, TIME, CREATED, RATE)
    writer.close()


@design(TOOL, 'chart-sheet', ['chart sheet'])
def chart_sheet(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    page = writer.book.add_chartsheet('Trend')
    chart = writer.book.add_chart({'type': 'line'})
    chart.add_series(series(table, CREATED))
    page.set_chart(chart)
    writer.close()


@design(TOOL, 'chart-other-sheet', ['chart on another sheet', 'sheet name in quotes'])
def chart_other_sheet(path, size):
    writer = Writer(path, size)
    front = writer.book.add_worksheet('Front')
    sheet = writer.sheet("Figures of '26")
    table = writer.usual(sheet)
    chart = writer.book.add_chart({'type': 'column'})
    quoted = "'Figures of ''26'!"
    chart.add_series({'values': '=' + quoted + table.range(CREATED), 'categories': '=' + quoted + table.range(BUCKET),
                      'data_labels': {'custom': [{'value': '=%s$C$%d' % (quoted, table.first)}]}})
    front.insert_chart('B2', chart)
    front.write_formula('A1', '=SUM(%s%s)' % (quoted, table.range(CREATED)))
    writer.close()


@design(TOOL, 'chart-beside', ['chart anchors'])
def chart_beside(path, size):
    """Beside the table: one that stays, one that moves with its first cell, one that grows with the rows."""
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    inserted = table.band.slots - table.band.sample
    for index, position in enumerate([3, 2, 1]):
        chart = writer.book.add_chart({'type': 'line'})
        chart.add_series(series(table, CREATED))
        rows = 15 + (inserted if position == 1 else 0)
        chart.set_size({'width': 300, 'height': 20 * rows})
        sheet.insert_chart(3, 7 + 6 * index, chart, {'object_position': position})
    writer.close()
