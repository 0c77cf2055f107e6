"""Designs of templates. A design is a function that builds one workbook at one size: with its sample rows (the template)
or with figures (what the filled template has to be). Rows of data grow behind the sample's; with fewer, what stands below
stays where the template has it."""
from figures import HEADERS, figure_rows, sample_rows

DESIGNS = []
SIZES = {
    '0': {'onboarding': 0, 'groups': 0},
    '1': {'onboarding': 1, 'groups': 1},
    '10': {'onboarding': 10, 'groups': 10},
    '7-2': {'onboarding': 7, 'groups': 2},
    '10000': {'onboarding': 10000, 'groups': 10000},
}
SAMPLE = 4


def design(tool, name, features, ending='xlsx', libreoffice=True):
    """`libreoffice`: a third tool makes a template of it, too, by opening and saving it."""
    def register(build):
        DESIGNS.append({'tool': tool, 'name': name, 'features': features, 'ending': ending,
                        'libreoffice': libreoffice, 'build': build})
        return build
    return register


class Band:
    """Tables that share rows: they start and end together."""
    def __init__(self, size, *sections, sample=SAMPLE):
        self.size, self.sample = size, sample
        need = sample if size is None else max(1, *[size[section] for section in sections], 0)
        self.rows, self.slots = need, max(need, sample)

    def data(self, section):
        found = sample_rows(section, self.sample) if self.size is None else figure_rows(section, self.size[section])
        return found + [[None] * len(HEADERS[section])] * (self.rows - len(found))


def letter(column):
    """1 is A."""
    text = ''
    while column > 0:
        column, rest = divmod(column - 1, 26)
        text = chr(65 + rest) + text
    return text


class Table:
    """Where a table is. Rows and columns count from 1; `below` is the first row that no row of the table ever has."""
    def __init__(self, band, section, sheet='Board', head=4, column=2, more=(), totals=False, headers=None, name=None):
        self.band, self.section, self.sheet, self.head, self.column = band, section, sheet, head, column
        self.name = name or section
        self.headers = list(headers or HEADERS[section]) + list(more)
        self.totals = totals
        self.first, self.last = head + 1, head + band.rows
        self.total = self.last + 1
        # A single cell does not follow the end of the table, nor does a range that is wider than the table when it shrinks.
        self.sample_last, self.slots_last = head + band.sample, head + band.slots
        self.below = head + band.slots + 1 + (1 if totals else 0)
        self.to_column = column + len(self.headers) - 1
        self.data = band.data(section)

    def letter(self, header):
        return letter(self.column + self.headers.index(header))

    def range(self, header, sheet=False, absolute=True, to=None):
        """The rows of data of a column, or of several up to another one."""
        mark = '$' if absolute else ''
        return '%s%s%s%s%d:%s%s%s%d' % (
            self.sheet + '!' if sheet else '', mark, self.letter(header), mark, self.first,
            mark, self.letter(to or header), mark, self.last)

    def cell(self, header, row):
        return self.letter(header) + str(row)

    @property
    def ref(self):
        return '%s%d:%s%d' % (letter(self.column), self.head, letter(self.to_column),
                              self.last + (1 if self.totals else 0))

    @property
    def body(self):
        return '%s%d:%s%d' % (letter(self.column), self.first, letter(self.to_column), self.last)
