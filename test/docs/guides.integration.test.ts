import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { collectLeaves } from '../../src/cli/reference.ts';
import { ALL_VARIABLE_NAMES } from '../support/features.ts';
import { jobsFolder } from '../support/jobs-folder.ts';
import { createTestProgram, runCommand } from '../support/run-command.ts';

const pagesOf = async (folder: string): Promise<string[]> =>
  (await readdir(`docs/${folder}`)).sort().map((name) => join('docs', folder, name));
const PAGES = [
  'README.md',
  ...(await pagesOf('tutorials')),
  ...(await pagesOf('how-to')),
  ...(await pagesOf('explanation')),
];

const commands = new Map(
  collectLeaves(createTestProgram()).map(({ name, command }) => [name.replace(/^docket /, ''), command]),
);

/** The arguments of each `docket` command on a page, from code blocks and inline code. */
function commandsOf(text: string): string[] {
  const blocks = [...text.matchAll(/^ *```(?:sh|console).*\n([\s\S]*?)^ *```/gm)].map(([, code = '']) => code);
  const lines = blocks.flatMap((code) => code.replaceAll(/\\\n\s*/g, '').split('\n'));
  const inline = [...text.matchAll(/`((?:[A-Z_]+=\S+ )*docket [^`\n]+)`/g)].map(([, code = '']) => code);
  return [...lines, ...inline].flatMap((line) => {
    const bare = line.replace(/(?:^|\s)#.*$/, '').trim();
    return /^(?:\$ )?(?:[A-Z_]+=\S* )*(?:\w+=\$\()?docket ([a-z].*)$/.exec(bare)?.[1] ?? [];
  });
}

test.each(PAGES)('%s names only commands and flags that exist', async (page) => {
  for (const called of commandsOf(await readFile(page, 'utf8'))) {
    // `docket create | list | revoke` names several.
    const words =
      called
        .split(/[|>;)]/)[0]
        ?.trim()
        .split(/\s+/) ?? [];
    const name = [words.slice(0, 2).join(' '), words[0] ?? ''].find((one) => commands.has(one) || isGroup(one));
    expect([page, called, name]).toEqual([page, called, expect.any(String)]);
    const command: Command | undefined = commands.get(name ?? '');
    if (command === undefined) continue;
    const known = command.options.flatMap(({ long }) => long ?? []);
    const unknown = words.filter((word) => word.startsWith('--') && !known.includes(word.replace(/=.*/, '')));
    expect([called, unknown.filter((word) => word !== '--json')]).toEqual([called, []]);
  }
});

const isGroup = (name: string): boolean => [...commands.keys()].some((one) => one.startsWith(`${name} `));

test.each(PAGES)('%s names only variables that exist', async (page) => {
  const text = (await readFile(page, 'utf8')).replaceAll(/\b[A-Z]+_[A-Z_]*…/g, '');
  const found = new Set([...text.matchAll(/\b(?:DOCKET|SMTP)_[A-Z0-9_]+\b/g)].map(([name]) => name));
  expect([...found].filter((name) => !ALL_VARIABLE_NAMES.has(name))).toEqual([]);
});

interface Example {
  readonly page: string;
  /** `org.yaml`, `targets.yaml` or `<report>.yaml`. */
  readonly file: string;
  readonly fields: Record<string, unknown>;
}

const ORG = {
  version: 1,
  org: 'current',
  api_key: { env: 'ACME_API_KEY' },
  timezone: 'Europe/Zurich',
  recipients: { domains: ['acme.example'] },
  allow_private: true,
};
const REPORT = {
  version: 1,
  title: 'Example',
  owner: 'ops@acme.example',
  period: 'previous_month',
  sections: [{ id: 'example', metrics: ['profiles.created'] }],
  outputs: [{ format: 'csv' }, { format: 'xlsx' }],
};

/** The blocks whose first line names the file that they show in full or in part. */
async function examplesOf(page: string): Promise<Example[]> {
  const text = await readFile(page, 'utf8');
  return [...text.matchAll(/^( *)```yaml\n([\s\S]*?)^ *```/gm)].flatMap(([, , code = '']) => {
    const file = /^\s*# (?:jobs\/[\w-]+\/)?([\w-]+\.yaml)/.exec(code)?.[1];
    if (file === undefined || file === 'prometheus.yml') return [];
    return [{ page, file, fields: z.record(z.string(), z.unknown()).parse(parse(code)) }];
  });
}

describe('examples of definitions', async () => {
  const pages = await Promise.all(PAGES.map(examplesOf));
  const examples = pages.flat();

  test('are found', () => expect(examples.length).toBeGreaterThan(15));

  test.each(pages.filter((found) => found.length > 0).map((found) => [found[0]?.page ?? '', found] as const))(
    'of %s pass `docket check`',
    async (_, found) => {
      const fieldsOf = (file: string) => found.filter((one) => one.file === file).map(({ fields }) => fields);
      const reports = found.map(({ file }) => file).filter((file) => !['org.yaml', 'targets.yaml'].includes(file));
      const people = { mlro: { tokens: ['mlro'] }, 'head-of-compliance': { tokens: ['head'] } };
      const org = Object.assign({ ...ORG, people }, ...fieldsOf('org.yaml'));
      const folder = await jobsFolder({
        'acme/org.yaml': stringify({ ...org, allow_private: true }),
        ...Object.fromEntries(fieldsOf('targets.yaml').map((fields) => ['acme/targets.yaml', stringify(fields)])),
        ...Object.fromEntries(
          [...new Set(reports)].map((file) => [
            `acme/${file}`,
            stringify(Object.assign({ ...REPORT }, ...fieldsOf(file))),
          ]),
        ),
      });
      const { stdout } = await runCommand(['check', '--offline', '--json'], { env: { DOCKET_JOBS: folder } });
      const { faults } = z
        .looseObject({ faults: z.array(z.looseObject({ got: z.string() })) })
        .parse(JSON.parse(stdout));
      // Workbook templates of examples do not exist here.
      expect(faults.filter(({ got }) => got !== 'no such file')).toEqual([]);
    },
  );
});
