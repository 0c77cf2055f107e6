import { Engine } from 'mrml';

/** What is wrong with an MJML template, and where; line and column from 1. */
export interface MjmlFault {
  readonly line: number;
  readonly column: number;
  readonly why: string;
}

/** The elements that mrml lays out. It passes over others in silence, and a mail would lack what is in them. */
const ELEMENTS: ReadonlySet<string> = new Set(
  (
    'mjml mj-head mj-body mj-attributes mj-all mj-class mj-breakpoint mj-font mj-preview mj-style mj-title mj-raw ' +
    'mj-wrapper mj-section mj-group mj-column mj-text mj-table mj-image mj-button mj-divider mj-spacer mj-hero ' +
    'mj-accordion mj-accordion-element mj-accordion-title mj-accordion-text mj-carousel mj-carousel-image ' +
    'mj-navbar mj-navbar-link mj-social mj-social-element'
  ).split(' '),
);

/** A tag of MJML; its attributes may hold a `>`, as Liquid's comparisons do. */
const TAG = /<(\/?)(mj[a-z-]*)\b(?:"[^"]*"|'[^']*'|[^>"'])*?(\/?)>/g;

/** Beyond some thousand the engine, which recurses, is broken for every template after it. A mail has about twenty. */
const MOST_TAGS_OPEN = 200;
/** Of HTML as well. */
const ANY_TAG = /<(\/?)([a-z][a-z0-9-]*)[^<>]*?(\/?)>/gi;
const NEVER_CLOSED: ReadonlySet<string> = new Set(
  'area base br col embed hr img input link meta source track wbr'.split(' '),
);

function placeOf(source: string, offset: number): { readonly line: number; readonly column: number } {
  const before = source.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

/**
 * The first element that is unknown, too deep, not closed, or closed by another. The engine itself does not look at the names
 * of closing tags. Inside `mj-attributes` every element may stand.
 */
function nestingFault(source: string): MjmlFault | undefined {
  const plain = source.replace(/<!--[\s\S]*?-->/g, (comment) => comment.replace(/[^\n]/g, ' '));
  const open: { readonly name: string; readonly at: number }[] = [];
  const fault = (at: number, why: string): MjmlFault => ({ ...placeOf(source, at), why });
  let depth = 0;
  for (const { 1: closing, 2: name = '', 3: selfClosing, index } of plain.matchAll(ANY_TAG)) {
    if (selfClosing === '/' || NEVER_CLOSED.has(name.toLowerCase())) continue;
    depth = Math.max(0, depth + (closing === '/' ? -1 : 1));
    if (depth > MOST_TAGS_OPEN) return fault(index, `more than ${MOST_TAGS_OPEN} elements are inside each other`);
  }
  for (const tag of plain.matchAll(TAG)) {
    const [, closing, name = '', selfClosing] = tag;
    if (!ELEMENTS.has(name)) return fault(tag.index, `<${name}> is no element of MJML`);
    if (selfClosing === '/') continue;
    if (closing !== '/') {
      open.push({ name, at: tag.index });
      continue;
    }
    const last = open.pop();
    if (last?.name !== name)
      return fault(tag.index, `</${name}> closes ${last === undefined ? 'nothing' : `<${last.name}>`}`);
  }
  const [unclosed] = open;
  if (unclosed !== undefined) return fault(unclosed.at, `<${unclosed.name}> is not closed`);
  return plain.includes('<mjml') ? undefined : fault(0, 'there is no <mjml> element');
}

/** Where the engine stopped, from its words `… at 3:17`; the start when it does not say. */
function engineFault(message: string): MjmlFault {
  const [, line, column] = /\bat (\d+):(\d+)/.exec(message) ?? [];
  const why = message.replace(/ cause /, ': ').replace(/( at \d+:\d+)+$/, '');
  return { line: Number(line ?? 1), column: Number(column ?? 1), why };
}

/**
 * MJML → HTML for mail programs (tables, Outlook's conditional comments, media queries). Liquid's tags and outputs
 * pass through as they are wherever MJML takes text: between elements, in their content and in attribute values.
 * Files cannot be included.
 */
export function compileMjml(source: string): { readonly html: string } | { readonly fault: MjmlFault } {
  const nesting = nestingFault(source);
  if (nesting !== undefined) return { fault: nesting };
  const engine = new Engine();
  // Fonts of MJML's own would be asked for from outside.
  engine.setRenderOptions({ disableComments: true, socialIconOrigin: null, fonts: {} });
  let result: ReturnType<Engine['toHtml']>;
  try {
    result = engine.toHtml(source);
  } catch {
    // It has broken down, and to let go of it would throw again; the next template has another one.
    const mark = source.indexOf('\ufeff', 1);
    const why =
      'the MJML engine breaks down at it; an invisible character, such as a byte order mark, may be the cause';
    return { fault: { ...placeOf(source, Math.max(0, mark)), why } };
  }
  engine.free();
  if (result.type === 'success') return { html: result.content };
  const detail = result.origin === 'parser' ? result.details : undefined;
  if (detail?.type === 'parser-error') return { fault: engineFault(detail.source) };
  const span = detail !== undefined && 'position' in detail ? detail.position : undefined;
  const offset = span === undefined ? 0 : Buffer.from(source).subarray(0, span.start).toString().length;
  return { fault: { ...placeOf(source, offset), why: result.message.replace(/ at position.*$/, '') } };
}
