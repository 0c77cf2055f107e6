"""Parts that XlsxWriter cannot write: a pivot table over the table of risks, and the alternative text of a table."""

import zipfile

from table_sheets import RISK_ROWS

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
CONTENT = "application/vnd.openxmlformats-officedocument.spreadsheetml"

RISKS = tuple(risk for risk, *_ in RISK_ROWS)
TYPES = ("Individual", "Entity")
RECORDS = tuple((RISKS.index(risk), TYPES.index(kind), *figures) for risk, kind, *figures in RISK_ROWS)
DECIDED = {(risk, kind): decided for risk, kind, decided, *_ in RISK_ROWS}


def items(values):
    return "".join(f'<s v="{value}"/>' for value in values)


def numbers(values):
    whole = ' containsInteger="1"' if all(isinstance(value, int) for value in values) else ""
    return f'<sharedItems containsSemiMixedTypes="0" containsString="0" containsNumber="1"{whole} minValue="{min(values)}" maxValue="{max(values)}"/>'


def cache_definition():
    shares = [f'<cacheField name="{name}" numFmtId="0">' for name in ("Risk", "Profile type", "Profiles decided", "Approval rate", "Median time to decision (h)")]
    contents = [
        f'<sharedItems count="{len(RISKS)}">{items(RISKS)}</sharedItems>',
        f'<sharedItems count="2">{items(TYPES)}</sharedItems>',
        *(numbers([record[index] for record in RECORDS]) for index in (2, 3, 4)),
    ]
    fields = "".join(f"{field}{content}</cacheField>" for field, content in zip(shares, contents))
    return (
        f'{HEAD}<pivotCacheDefinition xmlns="{MAIN}" xmlns:r="{OFFICE}" r:id="rId1" refreshOnLoad="1" refreshedBy="Docket" refreshedDate="45747"'
        f' createdVersion="6" refreshedVersion="6" minRefreshableVersion="3" recordCount="{len(RECORDS)}">'
        f'<cacheSource type="worksheet"><worksheetSource name="risk"/></cacheSource><cacheFields count="5">{fields}</cacheFields></pivotCacheDefinition>'
    )


def cache_records():
    rows = "".join(f'<r><x v="{a}"/><x v="{b}"/><n v="{c}"/><n v="{d}"/><n v="{e}"/></r>' for a, b, c, d, e in RECORDS)
    return f'{HEAD}<pivotCacheRecords xmlns="{MAIN}" xmlns:r="{OFFICE}" count="{len(RECORDS)}">{rows}</pivotCacheRecords>'


def axis_items(values):
    own = "".join(f'<item x="{index}"/>' for index in range(len(values)))
    return f'<items count="{len(values) + 1}">{own}<item t="default"/></items>'


def lines(values):
    own = "".join(f'<i><x v="{index}"/></i>' if index else "<i><x/></i>" for index in range(len(values)))
    return f'{own}<i t="grand"><x/></i>'


def pivot_table():
    return (
        f'{HEAD}<pivotTableDefinition xmlns="{MAIN}" name="Decisions" cacheId="1" applyNumberFormats="0" applyBorderFormats="0" applyFontFormats="0"'
        ' applyPatternFormats="0" applyAlignmentFormats="0" applyWidthHeightFormats="1" dataCaption="Values" updatedVersion="6" minRefreshableVersion="3"'
        ' useAutoFormatting="1" itemPrintTitles="1" createdVersion="6" indent="0" outline="1" outlineData="1" multipleFieldFilters="0"'
        ' rowHeaderCaption="Risk" colHeaderCaption="Profile type">'
        f'<location ref="B5:E{7 + len(RISKS)}" firstHeaderRow="1" firstDataRow="2" firstDataCol="1"/><pivotFields count="5">'
        f'<pivotField axis="axisRow" showAll="0">{axis_items(RISKS)}</pivotField>'
        f'<pivotField axis="axisCol" showAll="0">{axis_items(TYPES)}</pivotField>'
        '<pivotField dataField="1" showAll="0"/><pivotField showAll="0"/><pivotField showAll="0"/></pivotFields>'
        f'<rowFields count="1"><field x="0"/></rowFields><rowItems count="{len(RISKS) + 1}">{lines(RISKS)}</rowItems>'
        f'<colFields count="1"><field x="1"/></colFields><colItems count="3">{lines(TYPES)}</colItems>'
        '<dataFields count="1"><dataField name="Decisions " fld="2" baseField="0" baseItem="0" numFmtId="3"/></dataFields>'
        '<pivotTableStyleInfo name="PivotStyleMedium2" showRowHeaders="1" showColHeaders="1" showRowStripes="0" showColStripes="0" showLastColumn="1"/>'
        "</pivotTableDefinition>"
    )


# The cells of the pivot table from B5 on, computed from the samples, until it is refreshed.
PIVOT_CELLS = (
    ("Decisions ", "Profile type", None, None),
    ("Risk", *TYPES, "Grand Total"),
    *((risk, *(DECIDED.get((risk, kind)) for kind in TYPES), figures[0]) for risk, _, *figures in RISK_ROWS),
    ("Grand Total", *(sum(n for (_, of), n in DECIDED.items() if of == kind) for kind in TYPES), sum(DECIDED.values())),
)


def relationships(*entries):
    lines = "".join(f'<Relationship Id="rId{number}" Type="{OFFICE}/{kind}" Target="{target}"/>' for number, (kind, target) in enumerate(entries, 1))
    return f'{HEAD}<Relationships xmlns="{PACKAGE}">{lines}</Relationships>'


def alternative_text(table, title, summary):
    extension = (
        '<extLst><ext uri="{504A1905-F514-4f6f-8877-14C23A59335A}" xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main">'
        f'<x14:table altText="{title}" altTextSummary="{summary}"/></ext></extLst>'
    )
    return table.replace("</table>", f"{extension}</table>")


def add_parts(path, pivot_sheet):
    """Adds the pivot table to the sheet with this number, and the alternative text to the table of months."""
    with zipfile.ZipFile(path) as package:
        parts = {entry.filename: package.read(entry).decode("utf8") if entry.filename.endswith((".xml", ".rels", ".vml")) else package.read(entry) for entry in package.infolist()}
    overrides = {
        "xl/pivotCache/pivotCacheDefinition1.xml": f"{CONTENT}.pivotCacheDefinition+xml",
        "xl/pivotCache/pivotCacheRecords1.xml": f"{CONTENT}.pivotCacheRecords+xml",
        "xl/pivotTables/pivotTable1.xml": f"{CONTENT}.pivotTable+xml",
    }
    entries = "".join(f'<Override PartName="/{part}" ContentType="{kind}"/>' for part, kind in overrides.items())
    parts["[Content_Types].xml"] = parts["[Content_Types].xml"].replace("</Types>", f"{entries}</Types>")
    names = "xl/_rels/workbook.xml.rels"
    cache = f'<Relationship Id="rId900" Type="{OFFICE}/pivotCacheDefinition" Target="pivotCache/pivotCacheDefinition1.xml"/>'
    parts[names] = parts[names].replace("</Relationships>", f"{cache}</Relationships>")
    workbook = parts["xl/workbook.xml"]
    parts["xl/workbook.xml"] = workbook.replace("</workbook>", '<pivotCaches><pivotCache cacheId="1" r:id="rId900"/></pivotCaches></workbook>')
    parts[f"xl/worksheets/_rels/sheet{pivot_sheet}.xml.rels"] = relationships(("pivotTable", "../pivotTables/pivotTable1.xml"))
    parts["xl/pivotTables/pivotTable1.xml"] = pivot_table()
    parts["xl/pivotTables/_rels/pivotTable1.xml.rels"] = relationships(("pivotCacheDefinition", "../pivotCache/pivotCacheDefinition1.xml"))
    parts["xl/pivotCache/pivotCacheDefinition1.xml"] = cache_definition()
    parts["xl/pivotCache/_rels/pivotCacheDefinition1.xml.rels"] = relationships(("pivotCacheRecords", "pivotCacheRecords1.xml"))
    parts["xl/pivotCache/pivotCacheRecords1.xml"] = cache_records()
    months = next(part for part, text in parts.items() if part.startswith("xl/tables/") and 'name="Months"' in text)
    parts[months] = alternative_text(parts[months], "docket:trend", "A row for each month")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for part, content in parts.items():
            entry = zipfile.ZipInfo(part, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            package.writestr(entry, content)
