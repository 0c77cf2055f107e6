import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { secretSource } from '../../../src/base/secrets/secret.ts';
import { loadDefinitions, requireReport } from '../../../src/definitions/load/load-definitions.ts';
import { createDefinitionParser } from '../../../src/definitions/load/parse-definitions.ts';
import { reportJsonSchema } from '../../../src/definitions/schema/json-schema.ts';
import type { DefinitionKinds } from '../../../src/definitions/schema/kinds.ts';
import { directoryArchive } from '../../../src/deliver/archive/inline-archive.ts';
import { deliver } from '../../../src/deliver/deliver.ts';
import { TARGETS } from '../../../src/deliver/targets/registry.ts';
import { mailAttachments } from '../../../src/render/artifact.ts';
import { FORMATS } from '../../../src/render/formats/registry.ts';
import { renderPool } from '../../../src/render/render-pool.ts';
import { createRenderer, type Renderer } from '../../../src/render/renderer.ts';
import { renderAndPublish, revealOutputSecrets } from '../../../src/run/render-stage.ts';
import { dataset, MADE_AT, onboarding, workload } from '../../support/dataset.ts';
import { deliverInput, folderFor, ORDER, RUN } from '../../support/delivery-case.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { outlineFormat } from '../../support/outline-format.ts';

const formats = [...FORMATS, outlineFormat];
const kinds: DefinitionKinds = { targets: TARGETS, formats };

/** Loads a report with this output, which it attaches to an e-mail and puts into a folder. */
const loadReport = async (outputs: string, attach = 'outline') => {
  const report = (REPORT.split('outputs:')[0] ?? '')
    .concat(`outputs:\n  - ${outputs}\n`)
    .concat(`deliveries:\n  - email: { to: [lead@acme.example], attach: [${attach}] }\n  - directory: { path: out }\n`);
  const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly-kpi.yaml': report });
  return loadDefinitions(folder, { parser: createDefinitionParser(kinds) });
};

describe('a registered format', () => {
  it('is in the JSON Schema, as an output and as an attachment', () => {
    const { properties } = reportJsonSchema(kinds) as { properties: Record<string, never> };
    const text = JSON.stringify(properties);
    expect(text).toContain('"format":{"type":"string","const":"outline"}');
    expect(text).toContain('"description":"Spaces before each title."');
    expect(text).toContain(`"enum":${JSON.stringify(formats.map(({ format }) => format))}`);
    expect(properties).toMatchObject({ outputs: { maxItems: formats.length } });
  });

  it('has its options, its own rules, its name and its attachments checked', async () => {
    expect((await loadReport('{ format: outline }')).diagnostics).toEqual([]);
    const errors = async (...args: Parameters<typeof loadReport>) =>
      (await loadReport(...args)).diagnostics.map(({ line, expected, next }) => ({ line, expected, next }));
    expect(await errors('{ format: outline, colour: red }')).toEqual([expect.objectContaining({ line: 21 })]);
    expect(await errors('{ format: outline, indent: 5 }')).toEqual([
      { line: 21, expected: 'less indentation for so many sections', next: 'lower it' },
    ]);
    expect(await errors('{ format: outline, name: "{{ nothing }}" }')).toEqual([expect.objectContaining({ line: 21 })]);
    expect(await errors('{ format: csv }')).toEqual([expect.objectContaining({ line: 23 })]);
  });

  it.each<[string, () => Renderer]>([
    ['in this thread', () => createRenderer(formats)],
    [
      'in a render thread',
      () => {
        const pool = renderPool({ entry: new URL('../../support/outline-worker.mjs', import.meta.url) });
        onTestFinished(() => pool.close());
        return pool.render;
      },
    ],
  ])('is rendered %s, archived and delivered, with its companion, its bundle and its secret', async (_, open) => {
    const root = await folderFor(onTestFinished);
    const jobs = await loadReport('{ format: outline, indent: 3, seal: { env: SEAL } }');
    const { definition, settings } = requireReport(jobs, 'acme/weekly-kpi');
    const archive = directoryArchive(join(root, 'archive'));
    const secrets = await revealOutputSecrets(definition, { formats, secrets: secretSource({ SEAL: 'wax' }) });
    const signal = new AbortController().signal;
    const context = { definition, settings, signal, observe: () => {}, lastAttempt: true };
    const clock = { ...systemClock, now: () => MADE_AT };
    const ports = { archive, clock, render: open(), formats, templates: undefined } as never;
    const data = dataset([onboarding, workload]);
    const order = { ...ORDER, digest: 'd'.repeat(64), trigger: 'cli' } as never;
    const published = await renderAndPublish(data, await archive.stage(RUN), order, secrets, context, ports);

    expect(published.manifest.files).toMatchObject([
      { name: 'weekly-kpi.outline', format: 'outline', media_type: 'text/x-outline' },
      { format: 'outline_index', media_type: 'text/x-index', part: { of: 'outline', role: 'companion' } },
      { format: 'outline_bundle', media_type: 'text/x-bundle', part: { of: 'outline', role: 'bundle' } },
    ]);
    expect(published.mail.text).toContain('weekly-kpi.bundle');
    const archived = await archive.find(ORDER);
    expect(archived?.artifacts).toMatchObject([
      { name: 'weekly-kpi.outline', mediaType: 'text/x-outline' },
      { name: 'weekly-kpi.index', mediaType: 'text/x-index' },
      { name: 'weekly-kpi.bundle', mediaType: 'text/x-bundle' },
    ]);
    expect(mailAttachments(archived?.artifacts ?? [], ['outline']).map(({ name }) => name)).toEqual([
      'weekly-kpi.bundle',
    ]);

    await mkdir(join(root, 'out'));
    const [, directory] = definition.deliveries;
    const { receipts } = await deliver(
      deliverInput({
        definition: { ...definition, deliveries: directory === undefined ? [] : [directory] },
        settings,
        published,
        mail: undefined,
        archive,
        signal,
        workingDirectory: root,
      }),
    );
    expect(receipts).toMatchObject([{ state: 'sent' }]);
    expect((await readdir(join(root, 'out'))).sort()).toEqual(['weekly-kpi.index', 'weekly-kpi.outline']);
    expect(await readFile(join(root, 'out', 'weekly-kpi.outline'), 'utf8')).toBe(
      `   ${onboarding.title}\n   ${workload.title}\nsealed: 3\n`,
    );
  });
});
