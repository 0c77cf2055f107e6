import { Engine } from 'mrml';

/** An error in an MJML template. Line and column are counted from 1. */
export interface MjmlIssue {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** The elements that mrml supports. It silently drops all others with their content. */
const ELEMENTS: ReadonlySet<string> = new Set(
  (
    'mjml mj-head mj-body mj-attributes mj-all mj-class mj-breakpoint mj-font mj-preview mj-style mj-title mj-raw ' +
    'mj-wrapper mj-section mj-group mj-column mj-text mj-table mj-image mj-button mj-divider mj-spacer mj-hero ' +
    'mj-accordion mj-accordion-element mj-accordion-title mj-accordion-text mj-carousel mj-carousel-image ' +
    'mj-navbar mj-navbar-link mj-social mj-social-element'
  ).split(' '),
);

/** An MJML tag. Its attributes may contain `>`, because Liquid comparisons do. */
const TAG = /<(\/?)(mj[a-z-]*)\b(?:"[^"]*"|'[^']*'|[^>"'])*?(\/?)>/g;

/**
 * A few thousand levels overflow the recursive engine, which then fails for every later template. An e-mail has about
 * twenty.
 */
const MAX_NESTING = 200;
/** An MJML or HTML tag. */
const ANY_TAG = /<(\/?)([a-z][a-z0-9-]*)[^<>]*?(\/?)>/gi;
const VOID_ELEMENTS: ReadonlySet<string> = new Set(
  'area base br col embed hr img input link meta source track wbr'.split(' '),
);

function templatePosition(source: string, offset: number): { readonly line: number; readonly column: number } {
  const before = source.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

/**
 * Finds the first element that is unknown, nested too deeply, not closed, or closed by another name: the engine ignores
 * these errors. `mj-attributes` may contain every element.
 */
function findNestingIssue(source: string): MjmlIssue | undefined {
  const plain = source.replace(/<!--[\s\S]*?-->/g, (comment) => comment.replace(/[^\n]/g, ' '));
  const open: { readonly name: string; readonly at: number }[] = [];
  const issue = (at: number, message: string): MjmlIssue => ({ ...templatePosition(source, at), message });
  let depth = 0;
  for (const { 1: closing, 2: name = '', 3: selfClosing, index } of plain.matchAll(ANY_TAG)) {
    if (selfClosing === '/' || VOID_ELEMENTS.has(name.toLowerCase())) continue;
    depth = Math.max(0, depth + (closing === '/' ? -1 : 1));
    if (depth > MAX_NESTING) return issue(index, `elements are nested more than ${MAX_NESTING} levels deep`);
  }
  for (const tag of plain.matchAll(TAG)) {
    const [, closing, name = '', selfClosing] = tag;
    if (!ELEMENTS.has(name)) return issue(tag.index, `<${name}> is not an MJML element`);
    if (selfClosing === '/') continue;
    if (closing !== '/') {
      open.push({ name, at: tag.index });
      continue;
    }
    const last = open.pop();
    if (last?.name !== name)
      return issue(tag.index, `</${name}> closes ${last === undefined ? 'nothing' : `<${last.name}>`}`);
  }
  const [unclosed] = open;
  if (unclosed !== undefined) return issue(unclosed.at, `<${unclosed.name}> is not closed`);
  return plain.includes('<mjml') ? undefined : issue(0, 'there is no <mjml> element');
}

/** Reads the position in an engine error, `… at 3:17`; line 1, column 1 if it has none. */
function parseEngineError(message: string): MjmlIssue {
  const [, line, column] = /\bat (\d+):(\d+)/.exec(message) ?? [];
  const text = message.replace(/ cause /, ': ').replace(/( at \d+:\d+)+$/, '');
  return { line: Number(line ?? 1), column: Number(column ?? 1), message: text };
}

/**
 * Compiles MJML to HTML for e-mail clients (tables, conditional comments for Outlook, media queries). Liquid tags and
 * outputs are kept wherever MJML allows text: between elements, in their content and in attribute values. Files cannot
 * be included.
 */
export function compileMjml(source: string): { readonly html: string } | { readonly issue: MjmlIssue } {
  const nesting = findNestingIssue(source);
  if (nesting !== undefined) return { issue: nesting };
  const engine = new Engine();
  // MJML's default fonts are loaded from a third party.
  engine.setRenderOptions({ disableComments: true, socialIconOrigin: null, fonts: {} });
  let result: ReturnType<Engine['toHtml']>;
  try {
    result = engine.toHtml(source);
  } catch {
    // The engine crashed, and `free` would throw as well. The next template gets another engine.
    const byteOrderMark = source.indexOf('\ufeff', 1);
    const message = 'the MJML engine crashed; an invisible character, such as a byte order mark, may be the cause';
    return { issue: { ...templatePosition(source, Math.max(0, byteOrderMark)), message } };
  }
  engine.free();
  if (result.type === 'success') return { html: result.content };
  const detail = result.origin === 'parser' ? result.details : undefined;
  if (detail?.type === 'parser-error') return { issue: parseEngineError(detail.source) };
  const span = detail !== undefined && 'position' in detail ? detail.position : undefined;
  const offset = span === undefined ? 0 : Buffer.from(source).subarray(0, span.start).toString().length;
  return { issue: { ...templatePosition(source, offset), message: result.message.replace(/ at position.*$/, '') } };
}
