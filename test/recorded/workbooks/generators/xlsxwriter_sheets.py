"""What XlsxWriter puts on sheets beside cells and charts."""
import os

from design import Table, design
from excel_writer import BUCKET, CREATED, PICTURE, RATE, TIME, Writer

TOOL = 'XlsxWriter'
MACROS = os.path.join(os.path.dirname(PICTURE), 'macros.bin')


@design(TOOL, 'conditional-formats', ['conditional formats', 'data bars', 'icon sets'])
def conditional_formats(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    red = writer.book.add_format({'font_color': 'red'})
    created, rate, time, bucket = [table.range(h, absolute=False) for h in (CREATED, RATE, TIME, BUCKET)]
    first = '$C$%d' % table.first
    for range_, options in [
            (created, {'type': 'cell', 'criteria': '>', 'value': '=%s' % first}),
            (created, {'type': 'cell', 'criteria': 'between', 'minimum': 1, 'maximum': '=$C$%d' % table.sample_last}),
            (created, {'type': 'formula', 'criteria': '=C%d>AVERAGE(%s)' % (table.first, table.range(CREATED))}),
            (created, {'type': 'duplicate'}), (created, {'type': 'unique'}),
            (created, {'type': 'top', 'value': 3}), (created, {'type': 'bottom', 'value': 10, 'criteria': '%'}),
            (created, {'type': 'average', 'criteria': 'above'}),
            (rate, {'type': 'blanks'}), (rate, {'type': 'no_blanks'}), (rate, {'type': 'errors'}),
            (bucket, {'type': 'time_period', 'criteria': 'last month'}),
            (bucket, {'type': 'text', 'criteria': 'containing', 'value': 'a'})]:
        sheet.conditional_format(range_, {**options, 'format': red})
    sheet.conditional_format(time, {'type': '2_color_scale'})
    sheet.conditional_format(rate, {'type': '3_color_scale', 'mid_type': 'formula', 'mid_value': '=$D$%d' % table.first})
    sheet.conditional_format(created, {'type': 'data_bar'})
    sheet.conditional_format(time, {'type': 'data_bar', 'data_bar_2010': True, 'bar_axis_position': 'middle'})
    sheet.conditional_format(rate, {'type': 'icon_set', 'icon_style': '3_traffic_lights'})
    sheet.conditional_format(table.body, {'type': 'formula', 'criteria': '=$C%d>500' % table.first, 'format': red,
                                          'multi_range': '%s C%d:C%d' % (table.body, table.below + 2, table.below + 3)})
    sheet.conditional_format('C%d' % (table.below + 2), {'type': 'cell', 'criteria': '<', 'value': 0, 'format': red})
    writer.close()


@design(TOOL, 'sparklines', ['sparklines'])
def sparklines(path, size):
    writer = Writer(path, size)
    front = writer.book.add_worksheet('Front')
    sheet = writer.sheet()
    table = writer.usual(sheet)
    front.add_sparkline('A1', {'range': table.range(CREATED, sheet=True, absolute=False)})
    sheet.add_sparkline('C2', {'range': table.range(CREATED, sheet=True, absolute=False), 'type': 'column'})
    for at, header in enumerate([CREATED, RATE]):
        sheet.add_sparkline(table.below, 2 + at, {
            'range': table.range(header, sheet=True, absolute=False), 'type': 'win_loss', 'negative_points': True})
    writer.close()


@design(TOOL, 'sparklines-by-day', ['sparklines over dates'], libreoffice=False)
def sparklines_by_day(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    sheet.add_sparkline(table.below, 2, {'range': table.range(CREATED, sheet=True, absolute=False),
                                         'date_axis': table.range(BUCKET, sheet=True, absolute=False)})
    writer.close()


@design(TOOL, 'pictures', ['images', 'background image'])
def pictures(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    sheet.insert_image('G1', PICTURE)
    for index, position in enumerate([1, 2, 3]):
        row = table.below + 2 if position < 3 else 3
        sheet.insert_image(row, 7 + 3 * index, PICTURE, {'object_position': position, 'url': 'https://example.com/'})
    sheet.set_background(PICTURE)
    writer.close()


@design(TOOL, 'header-pictures', ['headers and footers', 'header images'])
def header_pictures(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    writer.usual(sheet)
    sheet.set_header('&L&G&C&"Arial,Bold"&A', {'image_left': PICTURE})
    sheet.set_footer('&C&P of &N&R&D')
    writer.close()


@design(TOOL, 'shapes', ['shapes', 'text linked to a cell'])
def shapes(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    below = table.below + 2
    sheet.write_formula(below - 1, 2, '=SUM(%s)' % table.range(CREATED))
    sheet.insert_textbox(below + 3, 1, 'Note below', {'object_position': 1})
    sheet.insert_textbox(below + 8, 1, '', {'textlink': '=Board!$C$%d' % below})
    sheet.insert_textbox(1, 8, 'Beside', {'object_position': 3})
    writer.close()


@design(TOOL, 'buttons-comments', ['form controls', 'comments'])
def buttons_comments(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    sheet.write_comment('C4', 'On the header', {'author': 'Ada'})
    sheet.write_comment('C%d' % (table.below + 2), 'On a cell below', {'author': 'Grace', 'visible': True})
    sheet.insert_button('G2', {'caption': 'Above', 'macro': 'Go'})
    sheet.insert_button('G%d' % (table.below + 2), {'caption': 'Below', 'macro': 'Go'})
    writer.close()


@design(TOOL, 'validations', ['data validation'])
def validations(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = Table(writer.band('onboarding'), 'onboarding', more=['Owner', 'Note'])
    writer.table(sheet, table)
    sheet.data_validation('F%d:F%d' % (table.first, table.last), {
        'validate': 'list', 'source': '=$C$%d:$C$%d' % (table.first, table.last)})
    sheet.data_validation('G%d:G%d' % (table.first, table.last), {
        'validate': 'custom', 'value': '=LEN(G%d)<COUNT(%s)' % (table.first, table.range(CREATED))})
    sheet.data_validation('C%d' % (table.below + 2), {
        'validate': 'decimal', 'criteria': 'between', 'minimum': 0, 'maximum': '=C%d' % (table.below + 3)})
    sheet.data_validation('C2', {'validate': 'list', 'source': ['a', 'b']})
    writer.close()


@design(TOOL, 'hyperlinks', ['hyperlinks'])
def hyperlinks(path, size):
    writer = Writer(path, size)
    front = writer.book.add_worksheet('Front')
    sheet = writer.sheet()
    table = writer.usual(sheet)
    front.write_url('A1', "internal:'Board'!C%d" % (table.below + 2), string='Below')
    front.write_url('A2', 'internal:Board!%s' % table.body, string='All')
    sheet.write_url(table.below + 3, 1, 'https://example.com/', string='Elsewhere')
    sheet.write_url(table.below + 4, 1, 'internal:Front!A1', string='Front')
    writer.close()


@design(TOOL, 'print-set-up', ['print area', 'print titles', 'page breaks', 'freeze panes'])
def print_set_up(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    sheet.freeze_panes(4, 2)
    sheet.repeat_rows(0, 3)
    sheet.repeat_columns('A:B')
    sheet.print_area('A1:F%d' % table.slots_last)
    sheet.set_h_pagebreaks([table.below + 1])
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)
    other = writer.sheet('Second')
    other.print_area('A1:C3')
    other.split_panes(15, 8.43)
    writer.close()


@design(TOOL, 'print-area-below', ['print area', 'page breaks', 'selection'])
def print_area_below(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    sheet.print_area('A1:H%d' % (table.below + 9))
    sheet.set_h_pagebreaks([2, table.below + 3])
    sheet.set_v_pagebreaks([6])
    writer.close()


@design(TOOL, 'groups', ['grouped rows', 'hidden columns'])
def grouped(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    for row in range(table.below + 1, table.below + 4):
        sheet.set_row(row, None, None, {'level': 1, 'hidden': True})
    sheet.set_row(table.below + 4, None, None, {'collapsed': True})
    sheet.write(table.below + 2, 1, 'Hidden')
    sheet.set_column('H:J', 9, None, {'level': 1})
    sheet.set_column('K:K', 9, None, {'hidden': True})
    writer.close()


@design(TOOL, 'protected', ['protected sheet', 'unprotected ranges'])
def protected(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    sheet.protect('secret', {'sort': True})
    sheet.unprotect_range(table.body, 'Figures')
    sheet.unprotect_range('C%d' % (table.below + 2), 'Below')
    writer.close()


@design(TOOL, 'dates-1904', ['dates from 1904'])
def dates_1904(path, size):
    writer = Writer(path, size, {'date_1904': True})
    sheet = writer.sheet()
    table = Table(writer.band('onboarding'), 'onboarding')
    table.data = [[None if row[0] is None else row[0] - 1462, *row[1:]] for row in table.data]
    writer.table(sheet, table)
    sheet.write_formula(table.below, 1, '=YEAR(MAX(%s))' % table.range(BUCKET))
    writer.close()


@design(TOOL, 'macros', ['macros'], ending='xlsm')
def macros(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    writer.book.add_vba_project(MACROS)
    sheet.write_formula(table.below, 2, '=SUM(%s)' % table.range(CREATED))
    sheet.insert_button(table.below + 2, 1, {'macro': 'say_hello', 'caption': 'Go'})
    writer.close()


@design(TOOL, 'everything', ['many features together'])
def everything(path, size):
    """Two bands, a chart over each, totals, names, formats and a front sheet: nearly what a board has."""
    writer = Writer(path, size)
    front = writer.book.add_worksheet('Front')
    sheet = writer.sheet()
    upper = Table(writer.band('onboarding'), 'onboarding', totals=True, more=['Approved'])
    writer.table(sheet, upper, {'Approved': '=onboarding[[#This Row],[Profiles created]]*onboarding[[#This Row],[Approval rate]]'},
                 totals={CREATED: '=SUBTOTAL(109,onboarding[Profiles created])'})
    lower = writer.table(sheet, Table(writer.band('groups', sample=3), 'groups', head=upper.below + 20))
    for index, table in enumerate([upper, lower]):
        chart = writer.book.add_chart({'type': 'line'})
        chart.add_series({'values': '=' + table.range(CREATED, sheet=True),
                          'categories': '=' + table.range(table.headers[0], sheet=True)})
        sheet.insert_chart(table.below + 1, 1, chart)
        sheet.conditional_format(table.range(CREATED, absolute=False), {'type': 'data_bar'})
        writer.book.define_name('Created_%d' % index, '=' + table.range(CREATED, sheet=True))
        front.write_formula(index, 1, '=SUM(Created_%d)' % index)
        front.add_sparkline(index, 2, {'range': table.range(CREATED, sheet=True, absolute=False)})
    sheet.print_area('A1:J%d' % (lower.below + 20))
    sheet.set_h_pagebreaks([lower.head - 2])
    front.write_formula('B4', '=Board!%s' % upper.cell(CREATED, upper.total))
    writer.close()
