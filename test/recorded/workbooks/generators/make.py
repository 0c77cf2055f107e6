"""Builds templates, and for each size the workbook that the filled template has to be.

  python3 make.py FOLDER [--only NAME] [--sizes template,0,1,10] [--libreoffice]

writes FOLDER/<name>/<size>.<ending> and FOLDER/index.json. With --libreoffice also `<name>-lo`: opened and saved by it."""
import argparse
import json
import os
import subprocess
import tempfile

from design import DESIGNS, SIZES

import hand_made  # noqa: F401
import openpyxl_designs  # noqa: F401
import xlsxwriter_cells  # noqa: F401
import xlsxwriter_charts  # noqa: F401
import xlsxwriter_sheets  # noqa: F401


def save_by_libreoffice(folder, names, size):
    """One start of LibreOffice for all of them."""
    with tempfile.TemporaryDirectory() as work:
        paths = []
        for name in names:
            os.symlink(os.path.join(os.path.abspath(folder), name, size + '.xlsx'), os.path.join(work, name + '.xlsx'))
            paths.append(os.path.join(work, name + '.xlsx'))
        out = os.path.join(work, 'out')
        subprocess.run(['soffice', '-env:UserInstallation=file://%s/profile' % work, '--headless', '--convert-to', 'xlsx',
                        '--outdir', out] + paths, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name in names:
            to = os.path.join(folder, name + '-lo')
            os.makedirs(to, exist_ok=True)
            os.replace(os.path.join(out, name + '.xlsx'), os.path.join(to, size + '.xlsx'))


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument('folder')
    parse.add_argument('--only', action='append')
    parse.add_argument('--sizes', default='template,0,1,10,7-2')
    parse.add_argument('--libreoffice', action='store_true')
    asked = parse.parse_args()
    chosen = [one for one in DESIGNS if not asked.only or one['name'] in asked.only]
    index = []
    for one in chosen:
        os.makedirs(os.path.join(asked.folder, one['name']), exist_ok=True)
        for size in asked.sizes.split(','):
            path = os.path.join(asked.folder, one['name'], '%s.%s' % (size, one['ending']))
            one['build'](path, None if size == 'template' else SIZES[size])
        index.append({key: one[key] for key in ('tool', 'name', 'features', 'ending', 'libreoffice')})
    if asked.libreoffice:
        again = [one for one in chosen if one['libreoffice'] and one['ending'] == 'xlsx']
        for size in asked.sizes.split(','):
            save_by_libreoffice(asked.folder, [one['name'] for one in again], size)
        index += [{'tool': 'LibreOffice', 'name': one['name'] + '-lo', 'features': one['features'], 'ending': 'xlsx',
                   'libreoffice': True} for one in again]
        for one in index:
            # It refreshes pivot tables when it saves them; filling leaves that to who opens the workbook.
            if one['name'] == 'pivot-tables-lo':
                one['compared'] = '^xl/(tables|pivotCache)/'
            # It stores dates as texts among numbers.
            if one['name'] == 'stock-chart-lo':
                one['compared'] = '^(?!xl/(charts|drawings)/)'
    with open(os.path.join(asked.folder, 'index.json'), 'w') as file:
        json.dump(index, file, indent=1)


main()
