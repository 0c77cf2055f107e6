"""Fonts, colours and number formats of the demo's workbook template."""

NAVY, TEAL, AMBER, RED = "#1B2A41", "#0B6E69", "#E09F0D", "#B3261E"
PALE = "#9CC5C1"
GREY, LINE, PAPER = "#5B6675", "#D5DAE1", "#F4F6F8"
FONT = "Calibri"

COUNT = "#,##0"
SHARE = "0.0%"
HOURS = '0.0" h"'
MONTH = "mmm yyyy"
DAY = "d mmm yyyy"
GROWTH = '+0.0%;-0.0%;0.0%'
# A change of a share is in percentage points.
POINTS = '+0.0" pp";-0.0" pp";0.0" pp"'


class Styles:
    """Makes each format of a workbook once."""

    def __init__(self, workbook):
        self.workbook = workbook
        self.made = {}

    def __call__(self, **properties):
        key = tuple(sorted(properties.items()))
        if key not in self.made:
            base = {"font_name": FONT, "font_size": 10, "font_color": NAVY, "valign": "vcenter"}
            self.made[key] = self.workbook.add_format({**base, **properties})
        return self.made[key]
