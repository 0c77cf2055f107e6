import { unzipSync } from 'fflate';
import { SaxesParser } from 'saxes';

/** Attributes that hold a reference or an anchor, or belong to one. */
const ATTRIBUTES = new Set([
  ...['ref', 'sqref', 'location', 'activeCell', 'topLeftCell', 'textlink', 'fmlaLink', 'fmlaRange', 'totalsRowCount'],
  ...['totalsRowFunction', 'sheet', 'name', 'localSheetId', 'editAs'],
]);
/** Elements whose text holds a reference or an anchor. */
const TEXTS = new Set([
  ...['f', 'formula', 'formula1', 'formula2', 'sqref', 'definedName', 'calculatedColumnFormula', 'totalsRowFormula'],
  ...['row', 'col', 'rowOff', 'colOff', 'Anchor', 'Row', 'Column', 'FmlaLink', 'FmlaRange'],
]);
/** Elements whose `name` and `sheet` count; elsewhere these attributes mean something else. */
const NAMED = new Set(['worksheetSource', 'definedName', 'tableColumn', 'table']);
const SKIPPED = /^(docProps|customXml|_rels|\[Content_Types\]|xl\/(theme|styles|persons|sharedStrings|_rels))/;

/**
 * What a workbook says about its cells: values with styles, formulas, ranges, anchors, names and cached points, one per
 * line, in the order of the parts. Two workbooks of one tool with equal lines look the same to a reader.
 */
export function packageFacts(bytes: Uint8Array): string[] {
  const parts = unzipSync(bytes);
  const text = (part: string) => new TextDecoder().decode(parts[part]);
  const strings = parts['xl/sharedStrings.xml'] === undefined ? [] : sharedStrings(text('xl/sharedStrings.xml'));
  return Object.keys(parts)
    .filter((part) => /\.(xml|vml)$/.test(part) && !SKIPPED.test(part))
    .sort()
    .flatMap((part) =>
      (part.startsWith('xl/worksheets/sheet') ? sheetFacts(text(part), strings) : partFacts(text(part))).map(
        (fact) => `${part} ${fact}`,
      ),
    );
}

interface Element {
  readonly local: string;
  readonly attributes: Readonly<Record<string, string>>;
  text: string;
}

/** Calls `end` for each element with its text and its ancestors, outermost first. */
function walk(xml: string, end: (element: Element, around: readonly Element[]) => void): void {
  const parser = new SaxesParser();
  const open: Element[] = [];
  parser.on('opentag', ({ name, attributes }) => {
    open.push({ local: name.replace(/^.*:/, ''), attributes: attributes as Record<string, string>, text: '' });
  });
  const add = (more: string) => {
    const last = open.at(-1);
    if (last !== undefined) last.text += more;
  };
  parser.on('text', add);
  parser.on('cdata', add);
  parser.on('closetag', () => {
    const last = open.pop();
    if (last !== undefined) end(last, open);
  });
  parser.on('error', (error) => {
    throw error;
  });
  parser.write(xml).close();
}

function sharedStrings(xml: string): string[] {
  const strings: string[] = [];
  let text = '';
  walk(xml, ({ local, text: own }, around) => {
    if (local === 't' && around.at(-1)?.local !== 'rPh') text += own;
    if (local !== 'si') return;
    strings.push(text);
    text = '';
  });
  return strings;
}

const number = (text: string) => (text.trim() === '' || Number.isNaN(Number(text)) ? text : String(Number(text)));

function factsOf({ local, attributes, text }: Element): string[] {
  const facts = Object.entries(attributes)
    .filter(([name]) => ATTRIBUTES.has(name) && (!['name', 'sheet'].includes(name) || NAMED.has(local)))
    .map(([name, value]) => `${local} ${name}=${value}`);
  const all =
    TEXTS.has(local) && text.trim() !== '' ? [...facts, `${local} ${text.trim().replace(/\s+/g, ' ')}`] : facts;
  // Tools write a range of one cell in two ways.
  return all.map((fact) => fact.replace(/(\$?[A-Z]{1,3}\$?\d+):\1(?![\d:])/g, '$1'));
}

function partFacts(xml: string): string[] {
  const facts: string[] = [];
  let points: string[] = [];
  walk(xml, (element, around) => {
    const { local, text } = element;
    if (local === 'v' && around.at(-1)?.local === 'pt' && text !== '')
      points.push(`${around.at(-1)?.attributes.idx}:${number(text)}`);
    if (local === 'ptCount') points.push(`${element.attributes.val} points`);
    if (local === 'numCache' || local === 'strCache') {
      facts.push(`${local} ${points.join(' ')}`);
      points = [];
    }
    facts.push(...factsOf(element));
  });
  return facts;
}

function sheetFacts(xml: string, strings: readonly string[]): string[] {
  const facts: string[] = [];
  let [formula, value, inline] = ['', '', ''];
  /** The ranges of array formulas. Their other cells hold results, which are skipped. */
  const arrays: string[] = [];
  walk(xml, (element, around) => {
    const { local, attributes, text } = element;
    const parent = around.at(-1)?.local;
    if (local === 'f' && parent === 'c') {
      formula = `=${text}${attributes.t === 'array' ? ` {${attributes.ref?.replace(/^(.+):\1$/, '$1')}}` : ''}`;
      if (attributes.t === 'array') arrays.push(attributes.ref ?? '');
      if (attributes.t === 'shared') formula = `shared ${attributes.si} ${attributes.ref ?? ''} ${formula}`;
    } else if (local === 'v' && parent === 'c') value = text;
    else if (local === 't' && around.some(({ local: name }) => name === 'is')) inline += text;
    else if (local === 'c') {
      const plain =
        attributes.t === 's'
          ? (strings[Number(value)] ?? 'no such string')
          : attributes.t === 'str'
            ? value
            : number(value);
      const shown = formula || inline || plain;
      const computed = formula === '' && arrays.some((range) => within(attributes.r ?? '', range));
      if (shown !== '' && !computed) facts.push(`${attributes.r} s${attributes.s ?? 0} ${shown}`);
      [formula, value, inline] = ['', '', ''];
    } else if (local === 'row' && attributes.r !== undefined) {
      const { r, ht, hidden, outlineLevel, collapsed, customHeight } = attributes;
      const own = {
        ht: customHeight === '1' || customHeight === 'true' ? ht : undefined,
        hidden,
        outlineLevel,
        collapsed,
      };
      const set = Object.entries(own).filter(([, of]) => of !== undefined && of !== '0' && of !== 'false');
      if (set.length > 0) facts.push(`row ${r} ${set.map(([name, of]) => `${name}=${of}`).join(' ')}`);
    } else if (local === 'brk') facts.push(`break ${attributes.id}`);
    else if (local === 'inputCells') facts.push(`inputCells ${attributes.r}`);
    else if (local !== 'dimension') facts.push(...factsOf(element));
  });
  return facts;
}

function within(cell: string, range: string): boolean {
  const place = (text: string) => {
    const [, letters = '', row = ''] = /^([A-Z]+)(\d+)$/.exec(text) ?? [];
    return { column: letters.padStart(3, ' '), row: Number(row) };
  };
  const [from = '', to = from] = range.split(':');
  const [at, first, last] = [place(cell), place(from), place(to)];
  return at.row >= first.row && at.row <= last.row && at.column >= first.column && at.column <= last.column;
}
