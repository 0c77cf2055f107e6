"""Formulas, names and tables of XlsxWriter."""
from design import Table, design, letter
from excel_writer import BUCKET, CREATED, RATE, TIME, Writer
from figures import EXPOSURE, GROUP, PERIOD, PERIOD_START, TITLE, totals

TOOL = 'XlsxWriter'


@design(TOOL, 'formulas-below', ['SUM over a column', 'relative references'])
def formulas_below(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    row = table.below + 1
    body = table.range(CREATED, absolute=False)
    for index, formula in enumerate([
            '=SUM(%s)' % body, '=AVERAGE(%s)' % table.range(TIME), '=COUNT(C:C)', '=C%d*2' % table.first,
            '=SUM(%s)-SUM($C$%d:C%d)' % (body, table.first, table.last), '=IF(C%d>0,"grew","A1:B2")' % (row + 1),
            '=MAX(%s,%s)' % (body, table.range(TIME, absolute=False)), '=ROWS(%d:%d)' % (table.first, table.slots_last),
            '=SUM((%s %s))' % (table.range(CREATED, to=RATE), table.range(CREATED)),
            '=SUMPRODUCT((%s>10)*(%s))' % (table.range(CREATED), table.range(TIME)),
            '=SUM(%s)' % table.range(CREATED, to=TIME)]):
        sheet.write_formula(row + index, 2, formula)
    sheet.write_formula('C2', '=SUM(%s)' % table.range(CREATED))
    writer.close()


@design(TOOL, 'formulas-across', ['formulas across sheets', 'INDEX and MATCH', 'SUMIFS'])
def formulas_across(path, size):
    writer = Writer(path, size)
    front = writer.book.add_worksheet('Front')
    sheet = writer.sheet()
    table = writer.usual(sheet)
    created, bucket, time = [table.range(header, sheet=True) for header in (CREATED, BUCKET, TIME)]
    for index, formula in enumerate([
            '=SUM(%s)' % created, '=INDEX(%s,MATCH(MAX(%s),%s,0))' % (bucket, created, created),
            '=SUMIFS(%s,%s,">10",%s,">"&DATE(2026,1,1))' % (time, created, bucket),
            '=IFERROR(VLOOKUP(46024,Board!$B$%d:$E$%d,2,FALSE),0)' % (table.first, table.last),
            '=SUM(onboarding[Profiles created])', '=COUNTA(onboarding[[#Headers],[Profiles created]])',
            '=SUM(onboarding[[Profiles created]:[Approval rate]])', '=ROWS(onboarding)', '=Board!C%d' % (table.below + 1)]):
        front.write_formula(index, 0, formula)
    sheet.write_formula(table.below, 2, '=SUM(%s)+1' % table.range(CREATED))
    writer.close()


@design(TOOL, 'side-by-side', ['tables side by side'])
def side_by_side(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    band = writer.band('onboarding', 'groups')
    left = writer.table(sheet, Table(band, 'onboarding'))
    right = writer.table(sheet, Table(band, 'groups', column=8))
    row = left.below + 1
    sheet.write_formula(row, 2, '=SUM(%s)' % left.range(CREATED))
    sheet.write_formula(row, 8, '=SUM(%s)-SUM(%s)' % (right.range(CREATED), left.range(CREATED)))
    sheet.write_formula(row, 9, '=SUMIF(%s,"Group*",%s)' % (right.range(GROUP), right.range(EXPOSURE)))
    writer.close()


@design(TOOL, 'stacked', ['tables stacked'])
def stacked(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    upper = writer.table(sheet, Table(writer.band('onboarding'), 'onboarding'))
    lower = writer.table(sheet, Table(writer.band('groups', sample=3), 'groups', head=upper.below + 3))
    sheet.write(upper.below + 1, 1, 'Groups')
    sheet.write_formula(upper.below, 2, '=SUM(%s)' % upper.range(CREATED))
    sheet.write_formula(lower.below, 2, '=SUM(%s)+SUM(%s)' % (lower.range(CREATED), upper.range(CREATED)))
    sheet.write_formula(lower.below + 1, 2, '=SUM(C%d:C%d)' % (upper.first, lower.last))
    writer.close()


@design(TOOL, 'totals-rows', ['totals row'])
def totals_rows(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = Table(writer.band('onboarding'), 'onboarding', totals=True)
    writer.table(sheet, table, totals={
        BUCKET: 'Total', CREATED: '=SUBTOTAL(109,onboarding[Profiles created])', TIME: '=MAX(%s)' % table.range(TIME)})
    sheet.write_formula(table.below, 2, '=%s*2' % table.cell(CREATED, table.total))
    sheet.write_formula(table.below + 1, 2, '=SUM(%s)' % table.range(CREATED))
    writer.close()


@design(TOOL, 'calculated-columns', ['calculated column'])
def calculated_columns(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = Table(writer.band('onboarding'), 'onboarding', more=['Approved', 'Running', 'Share'])
    writer.table(sheet, table, calculated={
        'Approved': '=onboarding[[#This Row],[Profiles created]]*onboarding[[#This Row],[Approval rate]]'})
    for row in range(table.first, table.last + 1):
        # Filled down by hand: relative, and anchored to the first row.
        sheet.write_formula(row - 1, 6, '=SUM(C$%d:C%d)' % (table.first, row))
        sheet.write_formula(row - 1, 7, '=C%d/SUM($C$%d:$C$%d)' % (row, table.first, table.last))
    sheet.write_formula(table.below, 5, '=SUM(%s)' % table.range('Approved'))
    sheet.write_formula(table.below, 7, '=SUM(onboarding[Share])')
    writer.close()


@design(TOOL, 'names', ['defined names', 'names of a sheet'])
def names(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    other = writer.book.add_worksheet('Other')
    table = writer.usual(sheet)
    below = table.below + 2
    sheet.write_formula(below - 1, 2, '=SUM(All_created)')
    writer.book.define_name('All_created', '=' + table.range(CREATED, sheet=True))
    writer.book.define_name('Board!Local', '=' + table.range(TIME, sheet=True))
    writer.book.define_name('Total_cell', '=Board!$C$%d' % below)
    writer.book.define_name('First_cell', '=Board!$C$%d' % table.first)
    writer.book.define_name('Rate', '=0.5')
    writer.book.define_name('Both', '=SUM(%s,%s)' % (table.range(CREATED, sheet=True), table.range(TIME, sheet=True)))
    other.write_formula('A1', '=Total_cell+Both+SUM(Board!Local)')
    writer.close()


@design(TOOL, 'figures-by-name', ['figures by name'])
def figures_by_name(path, size):
    """Names of Docket on three sheets: single cells, one merged area, one cell of a totals row, one below the table."""
    writer = Writer(path, size)
    front = writer.book.add_worksheet('Front')
    sheet = writer.sheet()
    last = writer.book.add_worksheet("The board's")
    table = Table(writer.band('onboarding'), 'onboarding', totals=True)
    writer.table(sheet, table, totals={BUCKET: 'Total', CREATED: '=SUBTOTAL(109,onboarding[Profiles created])'})
    figures, filled = totals(size), size is not None

    def named(name, on, row, column, value, style=None):
        quoted = on.get_name() if on is not last else "'The board''s'"
        writer.book.define_name('docket.' + name, '=%s!$%s$%d' % (quoted, letter(column), row))
        if value is None:
            on.write_blank(row - 1, column - 1, None, style)
        else:
            on.write(row - 1, column - 1, value, style)

    front.merge_range('B2:E3', TITLE if filled else 'Title of the report', writer.head)
    writer.book.define_name('docket.title', '=Front!$B$2:$E$3')
    named('period.label', front, 5, 2, PERIOD if filled else '2020-W01')
    named('period.start', front, 6, 2, PERIOD_START if filled else 43831, writer.date)
    front.write_formula('B8', '=docket.onboarding.profiles.created*2')
    named('onboarding.profiles.approval_rate', sheet, table.total, 4, figures['rate'], writer.share)
    named('onboarding.profiles.created', sheet, table.below + 2, 3, figures['created'], writer.count)
    named('groups.risk.exposure', last, 3, 3, figures['exposure'])
    last.write_formula('C4', '=C3+Board!C%d+SUM(%s)' % (table.below + 2, table.range(CREATED, sheet=True)))
    writer.close()


@design(TOOL, 'array-formulas', ['array formulas below', 'dynamic arrays below'])
def array_formulas(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    row = table.below + 1
    sheet.write_array_formula(row, 2, row, 2, '{=SUM(%s*%s)}' % (table.range(CREATED), table.range(RATE)))
    sheet.write_array_formula(row + 2, 1, row + 3, 2, '{=TRANSPOSE(B%d:C%d)}' % (row + 7, row + 8))
    sheet.write_row(row + 6, 1, [1, 2])
    sheet.write_row(row + 7, 1, [3, 4])
    sheet.write_dynamic_array_formula(row + 10, 2, row + 10, 2, '=SUM(LEN(%s))' % table.range(CREATED))
    writer.close()


@design(TOOL, 'merged-cells', ['merged cells', 'rich text', 'row heights'])
def merged_cells(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    row = table.below + 1
    sheet.merge_range(0, 1, 0, 4, 'Above the table', writer.head)
    sheet.merge_range(row, 1, row + 1, 4, 'Below the table', writer.head)
    sheet.set_row(row + 3, 40, writer.head)
    bold = writer.book.add_format({'bold': True})
    sheet.write_rich_string(row + 3, 1, 'Some ', bold, 'bold', ' text')
    sheet.ignore_errors({'number_stored_as_text': 'B%d:B%d' % (row + 5, row + 6), 'formula_differs': table.body})
    sheet.write_string(row + 4, 1, '123')
    writer.close()


@design(TOOL, 'unbound-tables', ['tables that bind to nothing'])
def unbound_tables(path, size):
    """A table above and one below that are the template's own: theirs only moves."""
    writer = Writer(path, size)
    sheet = writer.sheet()
    sheet.add_table('H2:I4', {'name': 'limits', 'columns': [{'header': 'Limit'}, {'header': 'Value'}]})
    sheet.write_row('H3', ['low', 1])
    sheet.write_row('H4', ['high', 9])
    table = writer.usual(sheet)
    top = table.below + 2
    sheet.add_table(top, 1, top + 2, 2, {'name': 'owners', 'columns': [{'header': 'Name'}, {'header': 'Of'}]})
    sheet.write_row(top + 1, 1, ['Ada', 'onboarding'])
    sheet.write_formula(top + 5, 1, '=COUNTA(owners[Name])+SUM(limits[Value])')
    sheet.autofilter(top + 8, 4, top + 10, 5)
    sheet.write_row(top + 8, 4, ['Key', 'Word'])
    sheet.write_row(top + 9, 4, ['a', 'b'])
    writer.close()
