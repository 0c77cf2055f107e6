import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type { SizeName } from './figures.ts';

/** A template of test/recorded/workbooks. */
export interface RecordedTemplate {
  readonly tool: string;
  readonly name: string;
  /** Its features, in the words of Excel users. */
  readonly features: readonly string[];
  readonly ending: 'xlsx' | 'xlsm';
  /** Whether LibreOffice can open it: 7.4 crashes at sparklines over dates, and does not know slicers. */
  readonly libreoffice: boolean;
  /** A pattern of the parts that are compared with the tool's; all parts if absent. */
  readonly compared?: string;
}

/** Lines of `packageFacts` and `libreofficeFacts` of the workbook that the tool built at that size. */
export interface ExpectedFacts {
  readonly package: Readonly<Partial<Record<SizeName, readonly string[]>>>;
  readonly libreoffice?: Readonly<Partial<Record<SizeName, readonly string[]>>>;
}

export const RECORDED = fileURLToPath(new URL('../../../recorded/workbooks', import.meta.url));

export const recordedTemplates = (): RecordedTemplate[] =>
  JSON.parse(readFileSync(join(RECORDED, 'index.json'), 'utf8')) as RecordedTemplate[];

export const templatePath = ({ name, ending }: RecordedTemplate): string =>
  join(RECORDED, 'templates', `${name}.${ending}`);

export const expectedFacts = (): Record<string, ExpectedFacts> =>
  JSON.parse(gunzipSync(readFileSync(join(RECORDED, 'expected.json.gz'))).toString('utf8')) as Record<
    string,
    ExpectedFacts
  >;
