import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Liquid, LiquidError, type Template } from 'liquidjs';
import { DocketError } from '../base/error.ts';
import { remembered } from '../base/remembered.ts';
import { compileMjml } from './mjml.ts';

/** The two bodies of a mail. A folder of one's own may hold one of them or both. */
export const TEMPLATES = { html: 'report.mjml', text: 'report.txt.liquid' } as const;
export type TemplateKind = keyof typeof TEMPLATES;

/** A template that is ready to be filled. Its values cannot break the layout: that is made before they come. */
export interface MailTemplate {
  readonly file: string;
  /** Throws `template.invalid` with file, line and column. */
  readonly fill: (data: object) => string;
}

/** What is wrong with a template, and where. */
export interface TemplateFault {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /** One sentence without its full stop. */
  readonly why: string;
}

/** Docket's own templates: beside `src/` and `dist/` alike. */
const OWN = fileURLToPath(new URL('../../templates', import.meta.url));

/**
 * The file that a kind of body comes from: the folder's own, or Docket's.
 * @param folder what `DOCKET_TEMPLATES` names
 */
export function templateFile(kind: TemplateKind, folder: string | undefined): string {
  const own = folder === undefined ? undefined : join(folder, 'email', TEMPLATES[kind]);
  return own !== undefined && existsSync(own) ? own : join(OWN, 'email', TEMPLATES[kind]);
}

/**
 * Unknown variables and filters are errors. Everything that is printed into HTML is escaped, where a template does not
 * say `| raw`. Templates read no files and no inherited properties, and an endless loop ends after ten seconds.
 */
const engine = remembered(
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

type Where = Omit<TemplateFault, 'file'>;

/** What is written, and the same with its layout made; a mail is filled far more often than its template changes. */
const parsed = remembered(
  (
    kind: TemplateKind,
    source: string,
  ): { readonly written: Template[]; readonly laidOut: Template[] } | { readonly fault: Where } => {
    const liquid = engine(kind);
    try {
      const written = liquid.parse(source);
      const compiled = kind === 'html' ? compileMjml(source) : undefined;
      if (compiled !== undefined && 'fault' in compiled) return compiled;
      return { written, laidOut: compiled === undefined ? written : liquid.parse(compiled.html) };
    } catch (thrown) {
      return { fault: liquidFault(thrown) };
    }
  },
  8,
);

/** Throws the template's first fault as `template.invalid`. */
export function loadTemplate(kind: TemplateKind, folder: string | undefined): MailTemplate {
  const opened = openTemplate(kind, templateFile(kind, folder));
  if ('fault' in opened) throw templateError(opened.fault);
  const { file, fill } = opened;
  return {
    file,
    fill: (data) => {
      const filled = fill(data);
      if ('fault' in filled) throw templateError(filled.fault);
      return filled.text;
    },
  };
}

export type Filled = { readonly text: string } | { readonly fault: TemplateFault };

export interface OpenTemplate {
  readonly file: string;
  readonly fill: (data: object) => Filled;
  /** The variables that it speaks of, where each occurs first; those that it makes itself are not among them. */
  readonly variables: () => readonly {
    readonly path: readonly string[];
    readonly line: number;
    readonly column: number;
  }[];
}

/** Reads, parses and lays out a template; what is wrong with it is told, not thrown. */
export function openTemplate(kind: TemplateKind, file: string): OpenTemplate | { readonly fault: TemplateFault } {
  let source: string;
  try {
    source = readFileSync(file, 'utf8');
  } catch (cause) {
    const why = `it cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
    return { fault: { file, line: 1, column: 1, why } };
  }
  const templates = parsed(kind, source);
  if ('fault' in templates) return { fault: { file, ...templates.fault } };
  const { written, laidOut } = templates;
  const liquid = engine(kind);
  const render = (templates: Template[], data: object): Filled => {
    try {
      return { text: String(liquid.renderSync(templates, data)) };
    } catch (thrown) {
      return { fault: { file, ...liquidFault(thrown) } };
    }
  };
  return {
    file,
    fill: (data) => {
      const filled = render(laidOut, data);
      if ('text' in filled || laidOut === written) return filled;
      // The layout's lines are nobody's: what is written fails in the same way, and shows where.
      const again = render(written, data);
      return 'fault' in again ? again : filled;
    },
    variables: () =>
      // A partial is refused when it is filled: there are no files to take it from.
      Object.values(liquid.analyzeSync(written, { partials: false }).globals).flatMap((found) =>
        found.map(({ segments, location: { row, col } }) => ({
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

function liquidFault(thrown: unknown): Where {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const why = (message.split('\n')[0] ?? message).replace(/, (file:.*, )?line:\d+, col:\d+$/, '');
  const token: unknown = LiquidError.is(thrown) ? thrown.token : undefined;
  const [line = 1, column = 1] = isToken(token) ? token.getPosition() : [];
  return { line, column, why };
}

const templateError = ({ file, line, column, why }: TemplateFault): DocketError =>
  new DocketError('template.invalid', `The e-mail template cannot be used: ${why}.`, {
    where: `${file}:${line}:${column}`,
    expected: 'MJML (the text part: plain text) with LiquidJS over the variables that templates/README.md lists',
    next: 'Correct the template (`docket check` looks at it, too), or remove it to use Docket’s own.',
  });
