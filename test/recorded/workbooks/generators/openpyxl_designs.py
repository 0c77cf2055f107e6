"""Templates of openpyxl."""
from openpyxl import Workbook
from openpyxl.chart import BarChart, LineChart, PieChart, Reference, ScatterChart, Series
from openpyxl.comments import Comment
from openpyxl.drawing.image import Image
from openpyxl.formatting.rule import CellIsRule, ColorScaleRule, DataBarRule, FormulaRule, IconSetRule
from openpyxl.styles import Font, PatternFill, Protection
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.table import Table as ExcelTable, TableFormula, TableStyleInfo

from design import Band, Table, design
from excel_writer import PICTURE
from figures import BUCKET, CREATED, RATE, TIME

TOOL = 'openpyxl'
FORMATS = {BUCKET: 'yyyy-mm-dd', CREATED: '#,##0', RATE: '0.0%'}


def begin(size, *sections, **options):
    """A workbook with a table of the first section on its sheet `Board`."""
    book = Workbook()
    sheet = book.active
    sheet.title = 'Board'
    sheet['B2'] = 'Board pack'
    sheet['B2'].font = Font(bold=True, size=16)
    return book, sheet, put(sheet, Table(Band(size, *(sections or ['onboarding'])), 'onboarding', **options))


def put(sheet, table, calculated=None):
    for at, header in enumerate(table.headers):
        sheet.cell(table.head, table.column + at, header)
    for index, row in enumerate(table.data):
        for at, value in enumerate(row):
            cell = sheet.cell(table.first + index, table.column + at, value)
            cell.number_format = FORMATS.get(table.headers[at], 'General')
            cell.fill = PatternFill('solid', start_color='FFF2F2F2')
    made = ExcelTable(displayName=table.name, ref=table.ref, totalsRowCount=1 if table.totals else None,
                      tableStyleInfo=TableStyleInfo(name='TableStyleLight9', showRowStripes=True))
    made._initialise_columns()
    for column, header in zip(made.tableColumns, table.headers):
        column.name = header
        if calculated and header in calculated:
            column.calculatedColumnFormula = TableFormula(attr_text=calculated[header][1:])
            for row in range(table.first, table.last + 1):
                sheet[table.cell(header, row)] = calculated[header]
    sheet.add_table(made)
    return table


def refer(sheet, table, header, with_title=True):
    column = table.column + table.headers.index(header)
    return Reference(sheet, min_col=column, min_row=table.head if with_title else table.first, max_row=table.last)


@design(TOOL, 'op-line-chart', ['line chart'])
def line_chart(path, size):
    book, sheet, table = begin(size)
    chart = LineChart()
    for header in (CREATED, TIME):
        chart.add_data(refer(sheet, table, header), titles_from_data=True)
    chart.set_categories(refer(sheet, table, BUCKET, False))
    sheet.add_chart(chart, 'B%d' % (table.below + 2))
    book.save(path)


@design(TOOL, 'op-combo-chart', ['combo chart', 'bar chart', 'pie chart'])
def combo_chart(path, size):
    book, sheet, table = begin(size)
    bar, line, pie = BarChart(), LineChart(), PieChart()
    bar.add_data(refer(sheet, table, CREATED), titles_from_data=True)
    line.add_data(refer(sheet, table, RATE), titles_from_data=True)
    line.y_axis.axId = 200
    bar += line
    pie.add_data(refer(sheet, table, TIME, False))
    sheet.add_chart(bar, 'B%d' % (table.below + 2))
    sheet.add_chart(pie, 'L%d' % (table.below + 2))
    book.save(path)


@design(TOOL, 'op-scatter-chart', ['scatter chart', 'chart sheet'])
def scatter_chart(path, size):
    book, sheet, table = begin(size)
    for target in (sheet, book.create_chartsheet('Page')):
        chart = ScatterChart()
        chart.series.append(Series(refer(sheet, table, TIME, False), refer(sheet, table, CREATED, False), title='Time'))
        target.add_chart(chart, 'B%d' % (table.below + 2)) if target is sheet else target.add_chart(chart)
    book.save(path)


@design(TOOL, 'op-conditional-formats', ['conditional formats', 'data bars', 'icon sets'])
def conditional_formats(path, size):
    book, sheet, table = begin(size)
    created, rate = table.range(CREATED, absolute=False), table.range(RATE, absolute=False)
    red = PatternFill(bgColor='FFFF0000', fill_type='solid')
    rules = sheet.conditional_formatting
    rules.add(created, CellIsRule(operator='greaterThan', formula=['$C$%d' % table.sample_last], fill=red))
    rules.add('%s E%d:E%d' % (created, table.first, table.last),
              FormulaRule(formula=['C%d>MEDIAN(%s)' % (table.first, table.range(CREATED))], fill=red))
    rules.add(rate, ColorScaleRule(start_type='min', start_color='FFFFFF', end_type='max', end_color='00FF00'))
    rules.add(created, DataBarRule(start_type='min', end_type='max', color='638EC6'))
    rules.add(rate, IconSetRule('3Arrows', 'percent', [0, 33, 67]))
    rules.add('B%d' % (table.below + 1), FormulaRule(formula=['SUM(%s)>9' % table.range(CREATED)], fill=red))
    book.save(path)


@design(TOOL, 'op-validation-comments', ['data validation', 'comments', 'hyperlinks'])
def validation_comments(path, size):
    book, sheet, table = begin(size, more=['Owner'])
    listed = DataValidation('list', formula1=table.range(CREATED))
    listed.add('F%d:F%d' % (table.first, table.last))
    whole = DataValidation('whole', operator='between', formula1='1', formula2='$C$%d' % table.sample_last)
    whole.add('C%d' % (table.below + 1))
    for one in (listed, whole):
        sheet.add_data_validation(one)
    sheet['B4'].comment = Comment('Above', 'Ada')
    sheet['C%d' % (table.below + 2)].comment = Comment('Below', 'Ada')
    link = sheet['B%d' % (table.below + 3)]
    link.value, link.hyperlink = 'Link', 'https://example.com/'
    book.save(path)


@design(TOOL, 'op-names-print', ['defined names', 'names of a sheet', 'print area', 'print titles', 'freeze panes', 'page breaks'])
def names_print(path, size):
    book, sheet, table = begin(size)
    book.defined_names.append(DefinedName('All_created', attr_text=table.range(CREATED, sheet=True)))
    book.defined_names.append(DefinedName('Local', localSheetId=0, attr_text=table.range(TIME, sheet=True)))
    sheet.print_area = 'A1:F%d' % table.slots_last
    sheet.print_title_rows = '1:4'
    sheet.freeze_panes = 'C5'
    sheet.row_breaks.append(Break(id=table.below + 2))
    sheet['C%d' % (table.below + 1)] = '=SUM(All_created)'
    sheet.row_dimensions[table.below + 1].height = 33
    book.save(path)


@design(TOOL, 'op-pictures', ['images', 'custom document properties', 'themes'])
def pictures(path, size):
    book, sheet, table = begin(size)
    for row in (1, table.below + 3):
        sheet.add_image(Image(PICTURE), 'H%d' % row)
    book.loaded_theme = open(PICTURE.replace('logo.png', 'theme.xml')).read()
    book.save(path)


@design(TOOL, 'op-side-by-side', ['tables side by side', 'formulas across sheets', 'SUMIFS'])
def side_by_side(path, size):
    book, sheet, left = begin(size, 'onboarding', 'groups')
    right = put(sheet, Table(left.band, 'groups', column=8))
    front = book.create_sheet('Front', 0)
    for row, formula in enumerate([
            '=SUM(%s)' % left.range(CREATED, sheet=True), '=SUM(groups[Exposure])',
            '=SUMIFS(%s,%s,">0")' % (left.range(TIME, sheet=True), left.range(CREATED, sheet=True)),
            '=INDEX(%s,2)' % right.range('Group', sheet=True, absolute=False)]):
        front.cell(row + 1, 1, formula)
    book.save(path)


@design(TOOL, 'op-stacked-totals', ['tables stacked', 'totals row', 'calculated column'])
def stacked_totals(path, size):
    book, sheet, _ = begin(size)
    sheet = book.create_sheet('Second')
    upper = Table(Band(size, 'groups'), 'groups', sheet='Second', totals=True, more=['Double'])
    put(sheet, upper, {'Double': '=groups[[#This Row],[Profiles created]]*2'})
    sheet[upper.cell(CREATED, upper.total)] = '=SUBTOTAL(109,%s)' % upper.range(CREATED)
    sheet['B%d' % (upper.below + 2)] = '=%s' % upper.cell(CREATED, upper.total)
    sheet['C%d' % (upper.below + 2)] = '=SUM(groups[Double])'
    book.save(path)


@design(TOOL, 'op-protected', ['protected sheet', 'grouped rows', 'merged cells'])
def protected(path, size):
    book, sheet, table = begin(size)
    sheet.protection.sheet = True
    sheet['C%d' % table.first].protection = Protection(locked=True)
    sheet.merge_cells('B%d:E%d' % (table.below + 1, table.below + 2))
    sheet.merge_cells('G1:H3')
    sheet.row_dimensions.group(table.below + 4, table.below + 6, hidden=True)
    book.save(path)
