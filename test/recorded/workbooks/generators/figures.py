"""The figures that templates are filled with, as test/support/workbook-template/figures.ts computes them, and the sample
rows of a template, which differ from all of them."""

BUCKET, CREATED, RATE, TIME = 'Bucket', 'Profiles created', 'Approval rate', 'Time to decision (median)'
GROUP, EXPOSURE = 'Group', 'Exposure'
HEADERS = {
    'onboarding': [BUCKET, CREATED, RATE, TIME],
    'groups': [GROUP, CREATED, EXPOSURE],
}
# 1 January 2026.
DAY_0 = 46023


def onboarding(index):
    return [DAY_0 + index, (index * 37 + 11) % 1000 + 1, (index * 13 % 100) / 100, (index * 7 % 50 + 1) * 600]


def groups(index):
    return ['Group %d' % (index + 1), (index * 53) % 500 + 1, (index * 29) % 200 + 0.5]


def figure_rows(section, count):
    row = {'onboarding': onboarding, 'groups': groups}[section]
    return [row(index) for index in range(count)]


def sample_rows(section, count):
    if section == 'onboarding':
        return [[DAY_0 - 40 + index, 5000 + index, 0.5, 90000] for index in range(count)]
    return [['Sample %d' % (index + 1), 7000 + index, 0.25] for index in range(count)]


def totals(size):
    """Values of names by section and metric, `size` as in design.py; the sample's where it is absent. A rate of no rows is
    undefined."""
    if size is None:
        return {'created': 9999, 'rate': 0.9, 'exposure': 99.5}
    days, groups_ = size['onboarding'], size['groups']
    return {'created': 1000 + days, 'rate': None if days == 0 else 0.25, 'exposure': groups_ + 0.5}


# The title and the period of the report, and its first day.
TITLE, PERIOD, PERIOD_START = 'Weekly compliance KPIs', '2026-W46', 46335
