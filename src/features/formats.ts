import type { Format } from '../render/formats/format.ts';
import { FORMATS as BUILT_IN } from '../render/formats/registry.ts';
import { xlsxWithTemplates } from './workbook-template/xlsx-with-templates.ts';

/** Output formats of features. Threads load this list, but no other part of a feature. */
const OF_FEATURES: readonly Format[] = [xlsxWithTemplates];

/** The built-in formats, each replaced by the feature's of its name, then the new ones. */
export const withFormatsOf = (features: readonly Format[]): readonly Format[] => [
  ...new Map([...BUILT_IN, ...features].map((each) => [each.format, each])).values(),
];

/** All output formats. */
export const FORMATS = withFormatsOf(OF_FEATURES);
