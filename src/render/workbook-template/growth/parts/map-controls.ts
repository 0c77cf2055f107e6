import type { ReferenceMap } from '../growth.ts';
import { mapFormula } from '../map-formula.ts';
import { rewriteXml } from './rewrite-xml.ts';
import { tokensOf, type XmlPart } from './xml-part.ts';

const FORMULAS = ['fmlaLink', 'fmlaRange', 'fmlaTxbx', 'fmlaGroup'];

/** The properties of a form control: the cells that it reads and writes. A list over one cell is over a table of one row. */
export const mapControl = (part: XmlPart, sheet: string, map: ReferenceMap): string | undefined =>
  rewriteXml(tokensOf(part), {
    attributes: ({ local, attributes }) => {
      if (local !== 'formControlPr') return undefined;
      const changes: Record<string, string> = {};
      for (const name of FORMULAS) {
        const formula = attributes[name];
        const single = name === 'fmlaRange' ? 'body' : 'cell';
        if (formula) changes[name] = mapFormula(formula, sheet, map, undefined, single);
      }
      return changes;
    },
  });
