"""Parts that no library writes, put into a package by hand."""
import re
import zipfile

MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
R = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
MS = 'http://schemas.microsoft.com/office'
DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
# Excel's order of what follows the cells of a sheet, as far as designs need it.
BEFORE_CONTROLS = ['drawing', 'legacyDrawing', 'legacyDrawingHF', 'picture', 'oleObjects', 'controls', 'tableParts', 'extLst']


class Package:
    def __init__(self, path):
        self.path = path
        with zipfile.ZipFile(path) as file:
            self.parts = {info.filename: file.read(info) for info in file.infolist()}

    def text(self, part):
        return self.parts[part].decode()

    def put(self, part, text, kind=None):
        """`kind`: its content type."""
        self.parts[part] = text if isinstance(text, bytes) else (DECLARATION + text).encode()
        if kind:
            self.change('[Content_Types].xml', '</Types>',
                        '<Override PartName="/%s" ContentType="%s"/></Types>' % (part, kind))

    def change(self, part, old, new):
        text = self.text(part)
        if old not in text:
            raise ValueError('%s has no %s' % (part, old))
        self.parts[part] = text.replace(old, new, 1).encode()

    def relate(self, part, id_, kind, target):
        folder, _, name = part.rpartition('/')
        rels = '%s/_rels/%s.rels' % (folder, name)
        if rels not in self.parts:
            self.put(rels, '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"></Relationships>')
        kind = kind if kind.startswith('http') else R + '/' + kind
        self.change(rels, '</Relationships>', '<Relationship Id="%s" Type="%s" Target="%s"/></Relationships>' % (id_, kind, target))

    def before_end(self, part, element, xml):
        """Puts an element into a sheet, at its place."""
        text = self.text(part)
        for follower in BEFORE_CONTROLS[BEFORE_CONTROLS.index(element) + 1:]:
            if re.search('<%s[ >/]' % follower, text):
                return self.change(part, '<' + follower, xml + '<' + follower)
        return self.change(part, '</worksheet>', xml + '</worksheet>')

    def save(self):
        with zipfile.ZipFile(self.path, 'w', zipfile.ZIP_DEFLATED) as file:
            for name, data in self.parts.items():
                info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
                info.compress_type = zipfile.ZIP_DEFLATED
                file.writestr(info, data)
