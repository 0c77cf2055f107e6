"""Workbooks of XlsxWriter with parts that it does not write: pivot tables, slicers, threaded comments, controls."""
from design import Table, design
from excel_writer import CREATED, RATE, TIME, Writer
from figures import EXPOSURE, GROUP
from parts import MAIN, MS, R, Package

TOOL = 'by hand'
SPREADSHEET = 'application/vnd.openxmlformats-officedocument.spreadsheetml.'


def pivot(package, number, source, sheet_part, location, sheet_number):
    """A pivot table: groups with the sum of their profiles. Its cache has the sample's records and is not refreshed."""
    cache, table = 'xl/pivotCache/pivotCacheDefinition%d.xml' % number, 'xl/pivotTables/pivotTable%d.xml' % number
    package.put(cache, '<pivotCacheDefinition xmlns="%s" xmlns:r="%s" r:id="rId1" refreshedBy="Ada" refreshedDate="46000" '
                'createdVersion="6" refreshedVersion="6" minRefreshableVersion="3" recordCount="1"><cacheSource type="worksheet">'
                '<worksheetSource %s/></cacheSource><cacheFields count="3"><cacheField name="Group" numFmtId="0"><sharedItems count="1">'
                '<s v="Sample 1"/></sharedItems></cacheField><cacheField name="Profiles created" numFmtId="0"><sharedItems '
                'containsSemiMixedTypes="0" containsString="0" containsNumber="1" containsInteger="1" minValue="7000" maxValue="7000"/>'
                '</cacheField><cacheField name="Exposure" numFmtId="0"><sharedItems containsSemiMixedTypes="0" containsString="0" '
                'containsNumber="1" minValue="0.25" maxValue="0.25"/></cacheField></cacheFields></pivotCacheDefinition>'
                % (MAIN, R, source), SPREADSHEET + 'pivotCacheDefinition+xml')
    package.put('xl/pivotCache/pivotCacheRecords%d.xml' % number, '<pivotCacheRecords xmlns="%s" count="1"><r><x v="0"/><n v="7000"/>'
                '<n v="0.25"/></r></pivotCacheRecords>' % MAIN, SPREADSHEET + 'pivotCacheRecords+xml')
    package.relate(cache, 'rId1', 'pivotCacheRecords', 'pivotCacheRecords%d.xml' % number)
    package.put(table, '<pivotTableDefinition xmlns="%s" name="Pivot%d" cacheId="%d" dataOnRows="0" applyNumberFormats="0" '
                'applyBorderFormats="0" applyFontFormats="0" applyPatternFormats="0" applyAlignmentFormats="0" '
                'applyWidthHeightFormats="1" dataCaption="Values" updatedVersion="6" minRefreshableVersion="3" createdVersion="6" '
                'outline="1" outlineData="1"><location ref="%s" firstHeaderRow="1" firstDataRow="1" firstDataCol="1"/>'
                '<pivotFields count="3"><pivotField axis="axisRow" showAll="0"><items count="2"><item x="0"/><item t="default"/></items>'
                '</pivotField><pivotField dataField="1" showAll="0"/><pivotField showAll="0"/></pivotFields><rowFields count="1">'
                '<field x="0"/></rowFields><rowItems count="2"><i><x/></i><i t="grand"><x/></i></rowItems><colItems count="1"><i/>'
                '</colItems><dataFields count="1"><dataField name="Sum" fld="1" baseField="0" baseItem="0"/></dataFields>'
                '<pivotTableStyleInfo name="PivotStyleLight16" showRowHeaders="1" showColHeaders="1"/></pivotTableDefinition>'
                % (MAIN, number, number, location), SPREADSHEET + 'pivotTable+xml')
    package.relate(table, 'rId1', 'pivotCacheDefinition', '../pivotCache/pivotCacheDefinition%d.xml' % number)
    package.relate(sheet_part, 'rIdPivot%d' % number, 'pivotTable', '../pivotTables/pivotTable%d.xml' % number)
    package.relate('xl/workbook.xml', 'rIdCache%d' % number, 'pivotCacheDefinition', 'pivotCache/pivotCacheDefinition%d.xml' % number)
    entry = '<pivotCache cacheId="%d" r:id="rIdCache%d"/>' % (number, number)
    if '<pivotCaches>' in package.text('xl/workbook.xml'):
        package.change('xl/workbook.xml', '</pivotCaches>', entry + '</pivotCaches>')
    else:
        package.change('xl/workbook.xml', '</workbook>', '<pivotCaches>%s</pivotCaches></workbook>' % entry)


def groups_workbook(path, size):
    writer = Writer(path, size)
    other = writer.book.add_worksheet('Pivot')
    sheet = writer.sheet()
    return writer, other, sheet, writer.table(sheet, Table(writer.band('groups'), 'groups'))


@design(TOOL, 'pivot-tables', ['pivot table over a table', 'pivot table over a range', 'pivot table that moves', 'GETPIVOTDATA'])
def pivot_tables(path, size):
    writer, other, sheet, table = groups_workbook(path, size)
    other.write_formula('E1', '=IFERROR(GETPIVOTDATA("Profiles created",$A$3),0)')
    sheet.write_formula('G2', '=IFERROR(GETPIVOTDATA("Profiles created",$B$%d),0)' % (table.below + 3))
    # Beside each other: when they are refreshed, each grows down.
    for target, row, column in ((other, 2, 0), (other, 2, 6), (sheet, table.below + 2, 1)):
        for at, line in enumerate([['Row Labels', 'Sum'], ['Sample 1', 7000], ['Grand Total', 7000]]):
            target.write_row(row + at, column, line)
    writer.close()
    package = Package(path)
    ref = 'ref="%s" sheet="Board"' % table.ref
    pivot(package, 1, 'name="groups"', 'xl/worksheets/sheet1.xml', 'A3:B5', 1)
    pivot(package, 2, ref, 'xl/worksheets/sheet1.xml', 'G3:H5', 1)
    pivot(package, 3, ref, 'xl/worksheets/sheet2.xml', 'B%d:C%d' % (table.below + 3, table.below + 5), 2)
    package.save()


@design(TOOL, 'slicers', ['slicers'], libreoffice=False)
def slicers(path, size):
    writer, other, sheet, table = groups_workbook(path, size)
    sheet.insert_textbox(table.below + 2, 1, 'In place of the slicer')
    writer.close()
    package = Package(path)
    main = 'xmlns="%s/spreadsheetml/2009/9/main" xmlns:x="%s"' % (MS, MAIN)
    package.put('xl/slicers/slicer1.xml', '<slicers %s><slicer name="Group" cache="Slicer_Group" caption="Group" rowHeight="241300"/>'
                '</slicers>' % main, 'application/vnd.ms-excel.slicer+xml')
    package.put('xl/slicerCaches/slicerCache1.xml', '<slicerCacheDefinition %s name="Slicer_Group" sourceName="Group"><extLst>'
                '<x:ext uri="{2F2917AC-EB37-4324-AD4E-5DD8C200BD13}" xmlns:x15="%s/spreadsheetml/2010/11/main">'
                '<x15:tableSlicerCache tableId="1" column="1"/></x:ext></extLst></slicerCacheDefinition>' % (main, MS),
                'application/vnd.ms-excel.slicerCache+xml')
    package.relate('xl/worksheets/sheet2.xml', 'rIdSlicer', MS + '/2007/relationships/slicer', '../slicers/slicer1.xml')
    package.relate('xl/workbook.xml', 'rIdSlicer', MS + '/2007/relationships/slicerCache', 'slicerCaches/slicerCache1.xml')
    package.before_end('xl/worksheets/sheet2.xml', 'extLst', '<extLst><ext uri="{3A4CF648-6AED-40f4-86FF-DC5316D8AED3}" '
                       'xmlns:x15="%s/spreadsheetml/2010/11/main"><x14:slicerList xmlns:x14="%s/spreadsheetml/2009/9/main">'
                       '<x14:slicer r:id="rIdSlicer"/></x14:slicerList></ext></extLst>' % (MS, MS))
    package.change('xl/workbook.xml', '</workbook>', '<extLst><ext uri="{46BE6895-7355-4a93-B00E-2C351335B9C9}" xmlns:x15="%s/'
                   'spreadsheetml/2010/11/main"><x15:slicerCaches xmlns:x14="%s/spreadsheetml/2009/9/main"><x14:slicerCache '
                   'r:id="rIdSlicer"/></x15:slicerCaches></ext></extLst></workbook>' % (MS, MS))
    package.save()


@design(TOOL, 'threaded-comments', ['threaded comments', 'custom XML', 'custom document properties'], libreoffice=False)
def threaded_comments(path, size):
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    below = 'C%d' % (table.below + 2)
    sheet.write_comment(below, '[Threaded comment]', {'author': 'tc={00000000-0000-0000-0000-000000000001}'})
    writer.book.set_custom_property('Client', 'Acme')
    writer.close()
    package = Package(path)
    threads = MS + '/spreadsheetml/2018/threadedcomments'
    package.put('xl/threadedComments/threadedComment1.xml', '<ThreadedComments xmlns="%s"><threadedComment ref="%s" '
                'dT="2026-01-01T00:00:00.00" personId="{00000000-0000-0000-0000-000000000002}" '
                'id="{00000000-0000-0000-0000-000000000001}"><text>Why?</text></threadedComment></ThreadedComments>' % (threads, below),
                'application/vnd.ms-excel.threadedcomments+xml')
    package.put('xl/persons/person.xml', '<personList xmlns="%s"><person displayName="Ada" id="{00000000-0000-0000-0000-000000000002}" '
                'userId="ada" providerId="None"/></personList>' % threads, 'application/vnd.ms-excel.person+xml')
    package.relate('xl/worksheets/sheet1.xml', 'rIdThread', 'http://schemas.microsoft.com/office/2017/10/relationships/threadedComment',
                   '../threadedComments/threadedComment1.xml')
    package.relate('xl/workbook.xml', 'rIdPerson', 'http://schemas.microsoft.com/office/2017/10/relationships/person',
                   'persons/person.xml')
    package.put('customXml/item1.xml', '<client xmlns="urn:example"><name>Acme</name></client>')
    package.put('customXml/itemProps1.xml', '<ds:datastoreItem ds:itemID="{00000000-0000-0000-0000-000000000003}" xmlns:ds='
                '"http://schemas.openxmlformats.org/officeDocument/2006/customXml"/>',
                'application/vnd.openxmlformats-officedocument.customXmlProperties+xml')
    package.relate('customXml/item1.xml', 'rId1', 'customXmlProps', 'itemProps1.xml')
    package.relate('xl/workbook.xml', 'rIdCustom', 'customXml', '../customXml/item1.xml')
    package.save()


@design(TOOL, 'signed-macros', ['macros', 'signature of macros'], ending='xlsm')
def signed_macros(path, size):
    from xlsxwriter_sheets import MACROS
    writer = Writer(path, size)
    sheet = writer.sheet()
    writer.usual(sheet)
    writer.book.add_vba_project(MACROS)
    writer.close()
    package = Package(path)
    package.put('xl/vbaProjectSignature.bin', bytes(range(256)) * 4, 'application/vnd.ms-office.vbaProjectSignature')
    package.relate('xl/vbaProject.bin', 'rId1', MS + '/2006/relationships/vbaProjectSignature', 'vbaProjectSignature.bin')
    package.save()


@design(TOOL, 'checkbox', ['form controls', 'linked cells'], libreoffice=False)
def checkbox(path, size):
    """A check box above and its linked cell below; a list box over the table."""
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    sheet.insert_button(table.below + 3, 1, {'macro': 'Go'})
    sheet.insert_textbox('M1', 'x')
    writer.close()
    package = Package(path)
    link = 'Board!$C$%d' % (table.below + 2)
    control = '<formControlPr xmlns="%s/spreadsheetml/2009/9/main" objectType="%s" %s/>'
    package.put('xl/ctrlProps/ctrlProp1.xml', control % (MS, 'CheckBox', 'checked="Checked" fmlaLink="%s" lockText="1"' % link),
                'application/vnd.ms-excel.controlproperties+xml')
    package.put('xl/ctrlProps/ctrlProp2.xml', control % (MS, 'List', 'fmlaLink="%s" fmlaRange="%s" dx="16" sel="1" val="0"' % (
        link, table.range(CREATED))), 'application/vnd.ms-excel.controlproperties+xml')
    xml = ''
    for number, row in ((1, 1), (2, table.below + 6)):
        package.relate('xl/worksheets/sheet1.xml', 'rIdControl%d' % number, 'ctrlProp', '../ctrlProps/ctrlProp%d.xml' % number)
        xml += ('<control shapeId="%d" r:id="rIdControl%d" name="Control %d"><controlPr defaultSize="0" autoFill="0" autoLine="0" '
                'autoPict="0"><anchor moveWithCells="1"><from><xdr:col>8</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>%d</xdr:row>'
                '<xdr:rowOff>0</xdr:rowOff></from><to><xdr:col>9</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>%d</xdr:row>'
                '<xdr:rowOff>0</xdr:rowOff></to></anchor></controlPr></control>') % (1024 + number, number, number, row, row + 1)
    package.before_end('xl/worksheets/sheet1.xml', 'controls', '<controls xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/'
                       'spreadsheetDrawing">%s</controls>' % xml)
    package.save()


@design(TOOL, 'waterfall', ['waterfall chart', 'custom sheet views', 'scenarios'], libreoffice=False)
def waterfall(path, size):
    """A chart of 2016 (chartex) in the place of a textbox, with its data as a formula."""
    writer = Writer(path, size)
    sheet = writer.sheet()
    table = writer.usual(sheet)
    sheet.insert_textbox(table.below + 3, 1, 'x')
    writer.close()
    package = Package(path)
    package.put('xl/charts/chartEx1.xml', '<cx:chartSpace xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:cx='
                '"%s/drawing/2014/chartex"><cx:chartData><cx:data id="0"><cx:strDim type="cat"><cx:f>%s</cx:f></cx:strDim><cx:numDim '
                'type="val"><cx:f>%s</cx:f></cx:numDim></cx:data></cx:chartData><cx:chart><cx:plotArea><cx:plotAreaRegion><cx:series '
                'layoutId="waterfall"><cx:dataId val="0"/></cx:series></cx:plotAreaRegion></cx:plotArea></cx:chart></cx:chartSpace>'
                % (MS, table.range(CREATED, sheet=True), table.range(TIME, sheet=True)), 'application/vnd.ms-office.chartex+xml')
    package.relate('xl/drawings/drawing1.xml', 'rIdEx', MS + '/2014/relationships/chartEx', '../charts/chartEx1.xml')
    row = table.below + 8
    package.change('xl/drawings/drawing1.xml', '</xdr:wsDr>', '<xdr:twoCellAnchor><xdr:from><xdr:col>6</xdr:col><xdr:colOff>0</xdr:colOff>'
                   '<xdr:row>%d</xdr:row><xdr:rowOff>0</xdr:rowOff></xdr:from><xdr:to><xdr:col>9</xdr:col><xdr:colOff>0</xdr:colOff>'
                   '<xdr:row>%d</xdr:row><xdr:rowOff>0</xdr:rowOff></xdr:to><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.'
                   'org/markup-compatibility/2006"><mc:Choice xmlns:cx1="%s/drawing/2015/9/8/chartex" Requires="cx1"><xdr:graphicFrame '
                   'macro=""><xdr:nvGraphicFramePr><xdr:cNvPr id="9" name="Waterfall"/><xdr:cNvGraphicFramePr/></xdr:nvGraphicFramePr>'
                   '<xdr:xfrm><a:off x="0" y="0"/><a:ext cx="0" cy="0"/></xdr:xfrm><a:graphic><a:graphicData uri="%s/drawing/2014/chartex">'
                   '<cx:chart xmlns:cx="%s/drawing/2014/chartex" xmlns:r="%s" r:id="rIdEx"/></a:graphicData></a:graphic></xdr:graphicFrame>'
                   '</mc:Choice><mc:Fallback><xdr:sp macro="" textlink=""><xdr:nvSpPr><xdr:cNvPr id="10" name="Old"/><xdr:cNvSpPr/></xdr:nvSpPr>'
                   '<xdr:spPr><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></xdr:spPr></xdr:sp></mc:Fallback></mc:AlternateContent><xdr:clientData/></xdr:twoCellAnchor></xdr:wsDr>' % (row, row + 9, MS, MS, MS, R))
    package.change('xl/worksheets/sheet1.xml', '</sheetData>', '</sheetData><scenarios current="0"><scenario name="High" count="1" '
                   'user="Ada"><inputCells r="C%d" val="9"/></scenario></scenarios><customSheetViews><customSheetView '
                   'guid="{00000000-0000-0000-0000-000000000009}"><pane ySplit="4" topLeftCell="A%d" activePane="bottomLeft" state="frozen"/>'
                   '<selection pane="bottomLeft" activeCell="C%d" sqref="C%d"/></customSheetView></customSheetViews>'
                   % (table.below + 2, 5, table.below + 2, table.below + 2))
    package.save()


@design(TOOL, 'extended-rules', ['conditional formats over other sheets', 'data validation over other sheets'], libreoffice=False)
def extended_rules(path, size):
    """Rules of 2010, which may ask other sheets."""
    writer = Writer(path, size)
    front = writer.book.add_worksheet('Front')
    sheet = writer.sheet()
    table = writer.usual(sheet)
    front.write('A1', 1)
    writer.close()
    package = Package(path)
    created = table.range(CREATED, sheet=True)
    own = table.range(RATE, absolute=False)
    for part, sqref in (('xl/worksheets/sheet1.xml', 'A1:A3'), ('xl/worksheets/sheet2.xml', own)):
        package.before_end(part, 'extLst', '<extLst><ext xmlns:x14="%s/spreadsheetml/2009/9/main" '
                           'uri="{78C0D931-6437-407d-A8EE-F0AAD7539E65}"><x14:conditionalFormattings><x14:conditionalFormatting '
                           'xmlns:xm="%s/excel/2006/main"><x14:cfRule type="expression" priority="9" id="{00000000-0000-0000-0000-00000000000A}">'
                           '<xm:f>SUM(%s)&gt;5</xm:f></x14:cfRule><xm:sqref>%s</xm:sqref></x14:conditionalFormatting></x14:conditionalFormattings>'
                           '</ext><ext xmlns:x14="%s/spreadsheetml/2009/9/main" uri="{CCE6A557-97BC-4b89-ADB6-D9C93CAAB3DF}"><x14:dataValidations '
                           'xmlns:xm="%s/excel/2006/main" count="1"><x14:dataValidation type="list"><x14:formula1><xm:f>%s</xm:f></x14:formula1>'
                           '<xm:sqref>%s</xm:sqref></x14:dataValidation></x14:dataValidations></ext></extLst>'
                           % (MS, MS, created, sqref, MS, MS, created, sqref))
    package.save()
