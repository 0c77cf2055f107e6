import { Liquid } from 'liquidjs';
import { didYouMean } from '../diagnostics/suggest.ts';
import { lineSchema } from './values/primitives.ts';

/** Variables available in every template. */
const COMMON_VARIABLES = [
  'period.from',
  'period.to',
  'period.label',
  'period.timezone',
  'org',
  'report',
  'title',
  // Only in a report with `split`.
  'split.value',
  'split.label',
  'split.slug',
] as const;
/** For a file of one section. */
const SECTION_NAME_VARIABLES = [...COMMON_VARIABLES, 'section.id', 'section.title'] as const;
const DELIVERY_VARIABLES = [...COMMON_VARIABLES, 'run'] as const;
/** Sentences about the figures. The first is empty if there is nothing to say. */
const SUBJECT_VARIABLES = [
  ...DELIVERY_VARIABLES,
  'headline',
  'headlines',
  'headlines.size',
  // The usual range of the first headline's figure, as raw values; empty without one.
  'headline_range.low',
  'headline_range.high',
  'headline_range.state',
] as const;
/** An object store has no folders, so the key names each file. */
const OBJECT_KEY_VARIABLES = [...DELIVERY_VARIABLES, 'file.name'] as const;

interface TemplateFieldIssue {
  readonly expected: string;
  readonly next: string;
}

// Shared, because creating an engine costs more than a check. It keeps no state.
const liquid = new Liquid({ strictFilters: true, templates: {}, parseLimit: 10_000 });

/** The error of a LiquidJS template with these variables; undefined if it is valid. */
function validateTemplate(template: string, variables: readonly string[]): TemplateFieldIssue | undefined {
  try {
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
    const issue = validateTemplate(template, variables);
    if (issue === undefined) return;
    context.addIssue({ code: 'custom', message: issue.expected, params: { next: issue.next } });
  });

/** The file name of an output. */
export const fileNameSchema = templateSchema(COMMON_VARIABLES);
/** The file name of an output with files per section. */
export const sectionFileNameSchema = templateSchema(SECTION_NAME_VARIABLES);
/** The subject of an e-mail. */
export const subjectSchema = templateSchema(SUBJECT_VARIABLES);
/** The path of a delivery. */
export const deliveryTextSchema = templateSchema(DELIVERY_VARIABLES);
/** The key of an object. */
export const objectKeySchema = templateSchema(OBJECT_KEY_VARIABLES);

/** Whether a file name contains the section, so that it differs between sections. */
export const usesSection = (template: string): boolean => /\bsection\.(id|title)\b/.test(template);
