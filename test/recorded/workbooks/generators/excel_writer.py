"""What designs of XlsxWriter share."""
import os
import sys

import xlsxwriter

from design import Band, Table, letter
from figures import BUCKET, CREATED, RATE, TIME

PICTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'logo.png')


class Writer:
    def __init__(self, path, size, options=None):
        self.book = xlsxwriter.Workbook(path, options or {})
        self.book.set_properties({'title': 'Board pack', 'created': __import__('datetime').datetime(2026, 1, 1)})
        self.size = size
        self.head = self.book.add_format({'bold': True, 'font_size': 18, 'font_color': '#1F3864'})
        self.date = self.book.add_format({'num_format': 'dd.mm.yyyy', 'border': 1})
        self.count = self.book.add_format({'num_format': '#,##0', 'border': 1, 'bg_color': '#F2F2F2'})
        self.share = self.book.add_format({'num_format': '0.0%', 'italic': True})

    def sheet(self, name='Board'):
        sheet = self.book.add_worksheet(name)
        sheet.write('B2', 'Board pack of the company', self.head)
        sheet.set_column('B:F', 18)
        return sheet

    def band(self, *sections, sample=4):
        return Band(self.size, *sections, sample=sample)

    def table(self, sheet, table, calculated=None, totals=None, **options):
        """`calculated`: formulas of columns that are the template's own, by header; `{row}` is the row of the cell."""
        columns = []
        for header in table.headers:
            column = {'header': header}
            if calculated and header in calculated:
                column['formula'] = calculated[header]
            columns.append(column)
        top, left = table.head - 1, table.column - 1
        # Numbers and dates of the sample go to the cells after the table: it writes its formulas itself.
        settings = {'name': table.name, 'columns': columns, 'total_row': table.totals, 'style': 'Table Style Medium 4'}
        settings.update(options)
        sheet.add_table(top, left, table.last - 1 + (1 if table.totals else 0), table.to_column - 1, settings)
        for index, row in enumerate(table.data):
            for at, value in enumerate(row):
                style = {BUCKET: self.date, CREATED: self.count, RATE: self.share}.get(table.headers[at])
                if value is None:
                    sheet.write_blank(table.first - 1 + index, left + at, None, style)
                else:
                    sheet.write(table.first - 1 + index, left + at, value, style)
        for header, formula in (totals or {}).items():
            at = table.headers.index(header)
            write = sheet.write_formula if formula.startswith('=') else sheet.write_string
            write(table.total - 1, left + at, formula)
        return table

    def usual(self, sheet, **options):
        """The table that most designs have: four columns of days from B4 on."""
        return self.table(sheet, Table(self.band('onboarding'), 'onboarding', sheet=sheet.get_name(), **options))

    def close(self):
        self.book.close()
