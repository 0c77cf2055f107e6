import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { addressKey, canonicalDomain } from '../../definitions/allow-lists/recipients.ts';
import { type Definitions, positionedSource } from '../../definitions/load/load-definitions.ts';
import { type SourceFile, type SourceNode, toPosition, type ValuePath } from '../../definitions/yaml/source-file.ts';

/** A place in the definitions where an address occurs. */
export const mentionSchema = z
  .object({
    org: z.string(),
    report: z.string().nullable().describe('null: the organization itself.'),
    file: z.string(),
    line: z.int().min(1),
    field: z.string().meta({ example: 'deliveries[0].email.to[1]' }),
  })
  .meta({ id: 'Mention' });
export type Mention = z.infer<typeof mentionSchema>;

/**
 * Finds where definitions mention an address, in any spelling: as recipient, owner, person, approver, or in an
 * allow-list (there also by its domain), and in the list files of split reports.
 */
export async function findMentions(
  address: string,
  jobs: Definitions,
  orgs: readonly string[] | '*',
): Promise<readonly Mention[]> {
  const key = addressKey(address.trim());
  if (key === undefined) return [];
  const [local, domain] = [key.slice(0, key.lastIndexOf('@')), key.slice(key.lastIndexOf('@') + 1)];
  const isNamedIn = (people: readonly string[]): boolean => people.some((each) => addressKey(each) === key);
  const found: Mention[] = [];
  for (const [name, { text: file }] of jobs.sources) {
    const [org = '', report = null] = name.split('/');
    if (orgs !== '*' && !orgs.includes(org)) continue;
    const { to = {} } = jobs.reports.get(name)?.split ?? {};
    const listed = typeof to === 'string' ? [] : Object.entries(to).filter(([, people]) => isNamedIn(people));
    // Parsing takes longer than this comparison. `org.yaml` may allow the whole domain, in any spelling.
    if (report !== null && listed.length === 0 && !file.toLowerCase().includes(local)) continue;
    const source = positionedSource(jobs, name);
    if (source === undefined) continue;
    for (const { path, text, offset } of iterateScalars(source.tree, source)) {
      const isNamed = text.includes('@')
        ? addressKey(text) === key
        : path.includes('domains') && canonicalDomain(text) === domain;
      const { line } = toPosition(source, offset);
      if (isNamed) found.push({ org, report, file: source.file, line, field: fieldText(path) });
    }
    const list = source.tree?.fields?.get('split')?.value?.fields?.get('to')?.value;
    if (list === undefined || list.fields !== undefined) continue;
    const path = join(jobs.folder, org, scalarText(list, source));
    for (const [value] of listed) {
      found.push({ org, report, file: path, line: await findLine(path, value, key), field: value });
    }
  }
  return found;
}

interface Scalar {
  readonly path: ValuePath;
  readonly text: string;
  readonly offset: number;
}

const scalarText = ({ offset = 0, end = offset }: SourceNode, { text }: SourceFile): string =>
  text.slice(offset, end).replace(/^(["'])(.*)\1$/s, '$2');

/** The scalars of a file. An alias is found at its anchor. */
function* iterateScalars(node: SourceNode | undefined, source: SourceFile, path: ValuePath = []): Generator<Scalar> {
  for (const [name, { value }] of node?.fields ?? []) yield* iterateScalars(value, source, [...path, name]);
  for (const [index, item] of node?.items?.entries() ?? []) yield* iterateScalars(item, source, [...path, index]);
  if (node?.offset === undefined || node.fields !== undefined || node.items !== undefined) return;
  yield { path, text: scalarText(node, source), offset: node.offset };
}

const fieldText = (path: ValuePath): string =>
  path.map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${part}`)).join('');

/** The first line of a list file that names both; 1 if the file can no longer be read. */
async function findLine(path: string, value: string, key: string): Promise<number> {
  const lines = (await readFile(path, 'utf8').catch(() => '')).split(/\r\n|\n|\r/);
  return (
    Math.max(
      0,
      lines.findIndex((line) => line.includes(value) && line.toLowerCase().includes(key)),
    ) + 1
  );
}
