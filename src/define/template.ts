import { Liquid } from 'liquidjs';
import { didYouMean } from './nearest.ts';
import { lineSchema } from './words.ts';

/** What every name, subject and path may speak of. */
const ALWAYS = ['period.from', 'period.to', 'period.label', 'period.timezone', 'org', 'report', 'title'] as const;
/** A CSV file holds one section. */
const CSV = [...ALWAYS, 'section.id', 'section.title'] as const;
const DELIVERY = [...ALWAYS, 'run'] as const;
/** An object store has no folders: the key names each file. */
const KEY = [...DELIVERY, 'file.name'] as const;

interface TemplateFault {
  readonly expected: string;
  readonly next: string;
}

/** Why a LiquidJS template cannot be filled from these variables; undefined when it can. Found now, not when the report is due. */
function templateFault(template: string, variables: readonly string[]): TemplateFault | undefined {
  try {
    const liquid = new Liquid({ strictFilters: true, templates: {}, parseLimit: 10_000 });
    const unknown = liquid
      .globalVariableSegmentsSync(liquid.parse(template))
      .map((segments) => segments.map(String).join('.'))
      .find((name) => !variables.includes(name));
    if (unknown === undefined) return undefined;
    return {
      expected: `a template of the variables ${variables.join(', ')}`,
      next: didYouMean(unknown, variables) ?? 'use one of these variables',
    };
  } catch (error) {
    const why = error instanceof Error ? (error.message.split(/, line:|\n/)[0] ?? '') : '';
    return { expected: `a LiquidJS template, e.g. "KPIs {{ period.label }}" (${why})`, next: 'correct the template' };
  }
}

const templateSchema = (variables: readonly string[]) =>
  lineSchema(300).superRefine((template, context) => {
    const fault = templateFault(template, variables);
    if (fault === undefined) return;
    context.addIssue({ code: 'custom', message: fault.expected, params: { next: fault.next } });
  });

/** File name of a workbook. */
export const workbookNameSchema = templateSchema(ALWAYS);
/** File name of one section's CSV. */
export const csvNameSchema = templateSchema(CSV);
/** Subject of an e-mail, path of a delivery. */
export const deliveryTextSchema = templateSchema(DELIVERY);
/** Key of an object. */
export const objectKeySchema = templateSchema(KEY);

/** Whether a CSV name differs between sections. */
export const namesSection = (template: string): boolean => /\bsection\.(id|title)\b/.test(template);
