import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { findMentions } from '../../../src/services/listings/address-mentions.ts';
import { folderFor } from '../../support/delivery-case.ts';

const ORG = (id: string) => `version: 1
org: 1
name: ${id}
api_key: { env: KEY }
timezone: UTC
recipients:
  domains: [acme.example]
  addresses:
    - Ana@acme.example
people:
  ana: { name: Ana, email: "ana@ACME.example" }
`;
const WEEKLY = `version: 1
title: Weekly
owner: ana@acme.example # ana@acme.example
period: previous_week
sections:
  - { id: queue, metrics: [alerts.open] }
outputs: [{ format: xlsx }]
deliveries:
  - email: { to: [bob@acme.example, &ana ana@acme.example] }
`;
const DESKS = `version: 1
title: Desks
owner: bob@acme.example
period: previous_week
split: { by: desk, to: desks.csv, others: [ana@acme.example] }
sections:
  - { id: queue, metrics: [alerts.open] }
outputs: [{ format: xlsx }]
deliveries:
  - email: { to: split }
`;

test('every line of visible organizations that names an address is found: recipients, people, allow-lists, list files', async () => {
  const folder = await folderFor(onTestFinished);
  for (const org of ['acme', 'beta']) {
    await mkdir(join(folder, org));
    await writeFile(join(folder, org, 'org.yaml'), ORG(org));
    await writeFile(join(folder, org, 'weekly.yaml'), WEEKLY);
    await writeFile(join(folder, org, 'desks.yaml'), DESKS);
    await writeFile(join(folder, org, 'desks.csv'), 'value,address\nnorth,bob@acme.example\nsouth,ANA@acme.example\n');
  }
  const jobs = await loadDefinitions(folder);
  expect(jobs.diagnostics).toEqual([]);
  const found = (await findMentions(' ANA@acme.example', jobs, ['acme'])).map(
    ({ org, report, file, line, field }) => `${org} ${report} ${file.slice(folder.length + 1)}:${line} ${field}`,
  );
  expect(found).toEqual([
    'acme null acme/org.yaml:7 recipients.domains[0]',
    'acme null acme/org.yaml:9 recipients.addresses[0]',
    'acme null acme/org.yaml:11 people.ana.email',
    'acme desks acme/desks.yaml:5 split.others[0]',
    'acme desks acme/desks.csv:3 south',
    'acme weekly acme/weekly.yaml:3 owner',
    'acme weekly acme/weekly.yaml:9 deliveries[0].email.to[1]',
  ]);
  const everywhere = await findMentions('ana@acme.example', jobs, '*');
  expect(everywhere).toHaveLength(14);
  // A running process keeps no positions.
  const texts = [...jobs.sources].map(
    ([name, { file, text }]) => [name, { file, text, lines: new Uint32Array() }] as const,
  );
  expect(await findMentions('ana@acme.example', { ...jobs, sources: new Map(texts) }, '*')).toEqual(everywhere);
  expect(await findMentions('ana+kpi@other.example', jobs, '*')).toEqual([]);
  expect(await findMentions('ana', jobs, '*')).toEqual([]);
});
