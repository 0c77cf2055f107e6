import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Liquid, LiquidError, type Template } from 'liquidjs';
import { DocketError, errorMessage } from '../../base/error.ts';
import { memoize } from '../../base/memoize.ts';
import { compileMjml } from './mjml.ts';

/** The templates of the two bodies. A folder of custom templates may contain either or both. */
export const TEMPLATES = { html: 'report.mjml', text: 'report.txt.liquid' } as const;
export type TemplateKind = keyof typeof TEMPLATES;

/** A compiled template. MJML is compiled before the data is inserted, so that data cannot break the layout. */
export interface EmailTemplate {
  readonly file: string;
  /** Throws `template.invalid` with file, line and column. */
  readonly fill: (data: object) => string;
}

/** An error in a template. */
export interface EmailTemplateIssue {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** Counted from 1. */
  readonly column: number;
  /** One sentence, without its full stop. */
  readonly message: string;
}

/** The built-in templates; the path is the same from `src/` and `dist/`. */
const BUILT_IN_TEMPLATES = fileURLToPath(new URL('../../../templates', import.meta.url));

/**
 * The file of a template: the custom one if it exists, otherwise the built-in one.
 * @param folder the value of `DOCKET_TEMPLATES`
 */
export function templateFile(kind: TemplateKind, folder: string | undefined): string {
  const custom = folder === undefined ? undefined : join(folder, 'email', TEMPLATES[kind]);
  return custom !== undefined && existsSync(custom) ? custom : join(BUILT_IN_TEMPLATES, 'email', TEMPLATES[kind]);
}

/**
 * Unknown variables and filters are errors. HTML output is escaped unless the template uses `| raw`. Templates cannot
 * read files or inherited properties. Rendering is limited to ten seconds.
 */
const liquidEngine = memoize(
  (kind: TemplateKind): Liquid =>
    new Liquid({
      templates: {},
      strictVariables: true,
      strictFilters: true,
      lenientIf: true,
      ownPropertyOnly: true,
      renderLimit: 10_000,
      ...(kind === 'html' ? { outputEscape: 'escape' as const } : {}),
    }),
  2,
);

type ErrorPosition = Omit<EmailTemplateIssue, 'file'>;

/** Source and compiled layout. Cached, because a template is used far more often than it changes. */
const parseTemplate = memoize(
  (
    kind: TemplateKind,
    source: string,
  ): { readonly source: Template[]; readonly compiled: Template[] } | { readonly issue: ErrorPosition } => {
    const liquid = liquidEngine(kind);
    try {
      const parsed = liquid.parse(source);
      const layout = kind === 'html' ? compileMjml(source) : undefined;
      if (layout !== undefined && 'issue' in layout) return layout;
      return { source: parsed, compiled: layout === undefined ? parsed : liquid.parse(layout.html) };
    } catch (thrown) {
      return { issue: liquidErrorPosition(thrown) };
    }
  },
  8,
);

/** Loads a template. Throws `template.invalid` for its first error. */
export function loadTemplate(kind: TemplateKind, folder: string | undefined): EmailTemplate {
  const opened = openTemplate(kind, templateFile(kind, folder));
  if ('issue' in opened) throw templateInvalid(opened.issue);
  const { file, fill } = opened;
  return {
    file,
    fill: (data) => {
      const filled = fill(data);
      if ('issue' in filled) throw templateInvalid(filled.issue);
      return filled.text;
    },
  };
}

export type FillResult = { readonly text: string } | { readonly issue: EmailTemplateIssue };

export interface OpenTemplate {
  readonly file: string;
  readonly fill: (data: object) => FillResult;
  /** The variables that the template uses without assigning them, at their first use. */
  readonly variables: () => readonly {
    readonly path: readonly string[];
    readonly line: number;
    readonly column: number;
  }[];
}

/** Reads, parses and compiles a template. Errors in it are returned, not thrown. */
export function openTemplate(kind: TemplateKind, file: string): OpenTemplate | { readonly issue: EmailTemplateIssue } {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    return { issue: { file, line: 1, column: 1, message: `it cannot be read: ${errorMessage(cause)}` } };
  }
  const templates = parseTemplate(kind, text);
  if ('issue' in templates) return { issue: { file, ...templates.issue } };
  const { source, compiled } = templates;
  const liquid = liquidEngine(kind);
  const render = (templates: Template[], data: object): FillResult => {
    try {
      return { text: String(liquid.renderSync(templates, data)) };
    } catch (thrown) {
      return { issue: { file, ...liquidErrorPosition(thrown) } };
    }
  };
  return {
    file,
    fill: (data) => {
      const filled = render(compiled, data);
      if ('text' in filled || compiled === source) return filled;
      // Positions in the compiled layout mean nothing to the author. Rendering the source fails in the same way, at a
      // position that the author knows.
      const again = render(source, data);
      return 'issue' in again ? again : filled;
    },
    variables: () =>
      // Partials are not analyzed here: they fail when the template is filled.
      Object.values(liquid.analyzeSync(source, { partials: false }).globals).flatMap((uses) =>
        uses.map(({ segments, location: { row, col } }) => ({
          path: segments.filter((segment) => typeof segment === 'string'),
          line: row,
          column: col,
        })),
      ),
  };
}

interface Token {
  readonly getPosition: () => number[];
}
const isToken = (value: unknown): value is Token =>
  typeof value === 'object' && value !== null && 'getPosition' in value && typeof value.getPosition === 'function';

function liquidErrorPosition(thrown: unknown): ErrorPosition {
  const full = errorMessage(thrown);
  const message = (full.split('\n')[0] ?? full).replace(/, (file:.*, )?line:\d+, col:\d+$/, '');
  const token: unknown = LiquidError.is(thrown) ? thrown.token : undefined;
  const [line = 1, column = 1] = isToken(token) ? token.getPosition() : [];
  return { line, column, message };
}

const templateInvalid = ({ file, line, column, message }: EmailTemplateIssue): DocketError =>
  new DocketError('template.invalid', `Invalid e-mail template: ${message}.`, {
    where: `${file}:${line}:${column}`,
    expected: 'MJML (the text part: plain text) with LiquidJS over the variables that templates/README.md lists',
    next: 'Correct the template (`docket check` validates it), or remove it to use the built-in one.',
  });
