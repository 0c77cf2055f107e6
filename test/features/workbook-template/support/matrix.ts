import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkFilled, differences } from './check-filled.ts';
import { figuresOf, SIZES, type SizeName } from './figures.ts';
import { fill } from './fill-recorded.ts';
import { libreofficeFacts } from './libreoffice-facts.ts';
import { recalculate } from './recalculate.ts';
import type { RecordedTemplate } from './recorded.ts';
import { newErrors } from './validate.ts';

/** A template to fill at one size, and the expected result. */
export interface TemplateCase {
  readonly recorded: RecordedTemplate;
  readonly size: SizeName;
  readonly path: string;
  /** Lines of `packageFacts`. */
  readonly facts: readonly string[];
  /** Lines of `libreofficeFacts`, or the workbook that gives them; null skips LibreOffice. */
  readonly libreoffice: readonly string[] | { readonly built: string } | null;
}

/** Problems by template and size; empty if there are none. */
export type Problems = ReadonlyMap<string, readonly string[]>;

/** Fills each template, compares it with what its tool has built, validates it, and computes it in LibreOffice. */
export async function checkTemplates(cases: readonly TemplateCase[], folder: string): Promise<Problems> {
  const problems = new Map<string, string[]>();
  const filled = new Map<TemplateCase, string>();
  const tell = ({ recorded, size }: TemplateCase, found: readonly string[]) => {
    const key = `${recorded.name} ${size}`;
    if (found.length > 0) problems.set(key, [...(problems.get(key) ?? []), ...found]);
  };
  for (const one of cases) {
    const { recorded, size, path, facts } = one;
    const to = join(folder, `${recorded.name}.${size}.${recorded.ending}`);
    try {
      await fill(path, to, figuresOf(SIZES[size]));
    } catch (error) {
      tell(one, [String(error)]);
      continue;
    }
    filled.set(one, to);
    tell(one, checkFilled(await readFile(path), await readFile(to), facts, recorded.compared));
  }
  for (const [one, to] of filled) tell(one, await newErrors(one.path, to));
  const opened = [...filled].filter(([{ libreoffice }]) => libreoffice !== null);
  const builtOf = ({ libreoffice }: TemplateCase) =>
    libreoffice !== null && 'built' in libreoffice ? [libreoffice.built] : [];
  const requested = opened.flatMap(([one, to]) => [to, ...builtOf(one)]);
  const computed = new Map((await recalculate(requested, folder)).map((file, index) => [requested[index], file]));
  for (const [one, to] of opened) {
    const [file, built] = [computed.get(to), builtOf(one).map((path) => computed.get(path) ?? null)[0]];
    if (built === null) tell(one, ['LibreOffice does not open what its tool has built']);
    else if (file === null || file === undefined) tell(one, ['LibreOffice does not open it']);
    else tell(one, compare(await expectedOf(one, built), await libreofficeFacts(file)));
  }
  return problems;
}

async function expectedOf({ libreoffice }: TemplateCase, built: string | undefined): Promise<readonly string[]> {
  if (built !== undefined) return libreofficeFacts(built);
  return libreoffice === null || 'built' in libreoffice ? [] : libreoffice;
}

const compare = (expected: readonly string[], got: readonly string[]): string[] => {
  // The order of pivot tables in the file depends on their places, so sort the lines.
  const difference = differences(expected.toSorted(), got.toSorted());
  return difference === '' ? [] : [`LibreOffice: ${difference}`];
};
