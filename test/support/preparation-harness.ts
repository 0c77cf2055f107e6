import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { readConfig } from '../../src/base/config/config.ts';
import { createScope } from '../../src/base/scope.ts';
import { createInlinePorts } from '../../src/compose/run-ports.ts';
import type { OrgSettings } from '../../src/definitions/schema/org-settings.ts';
import type { Definition } from '../../src/definitions/schema/report-definition.ts';
import { createArchive } from '../../src/deliver/archive/create-archive.ts';
import { directoryStorage } from '../../src/deliver/archive/storage/directory-storage.ts';
import { memoryResponseStore } from '../../src/fetch/cache/response-store.ts';
import { FORMATS } from '../../src/render/formats/registry.ts';
import { createRenderer } from '../../src/render/renderer.ts';
import { run } from '../../src/run/run.ts';
import type { RunEvent } from '../../src/run/run-events.ts';
import { createRunOrder } from '../../src/run/run-order.ts';
import { type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { PreparationIndex, PreparationStatus } from '../../src/services/preparations/preparation-index.ts';
import {
  createPreparationRounds,
  type PreparationRoundPorts,
} from '../../src/services/preparations/preparation-rounds.ts';
import { manualClock } from './manual-clock.ts';
import { definitionOf, type SectionInput, settingsOf } from './reports.ts';

export function memoryPreparationIndex(): PreparationIndex {
  const statuses = new Map<string, PreparationStatus>();
  const claims = new Map<string, string>();
  const refused = new Set<string>();
  return {
    statuses: async () => new Map(statuses),
    put: async (id, status) => void statuses.set(id, status),
    remove: async (ids) => {
      for (const id of ids) statuses.delete(id);
    },
    claim: async (id, by) => {
      const holder = claims.get(id) ?? by;
      claims.set(id, holder);
      return holder === by;
    },
    release: async (id) => void claims.delete(id),
    reportRefusal: async (key) => !refused.has(key) && refused.add(key).size > 0,
  };
}

export const SECTIONS: readonly SectionInput[] = [
  { id: 'created', metrics: ['profiles.created'], granularity: 'day' },
  { id: 'risk', metrics: ['profiles.created'], dimensions: ['profile.risk'] },
  { id: 'types', metrics: ['profiles.created'], dimensions: ['profile.type'], compare: 'previous_period' },
];

/**
 * Slots against a sandbox, with everything except the archive in memory, on a clock that stands still. The windows of the
 * budget last a minute, like those of the service.
 */
export async function preparationHarness(
  start: string,
  more: Partial<Definition> = {},
  { sections = SECTIONS, ...sandboxOptions }: SandboxOptions & { readonly sections?: readonly SectionInput[] } = {},
) {
  const clock = manualClock(Date.parse(start));
  const sandbox = await startSandbox({ clock, now: Date.parse(start), ...sandboxOptions });
  const folder = await mkdtemp(join(tmpdir(), 'docket-preparations-'));
  const archive = createArchive(directoryStorage(join(folder, 'archive')), clock);
  const env: Record<string, string> = {
    ACME_KEY: sandbox.keys.find(({ label }) => label === 'lakeside')?.key ?? '',
  };
  let settings: OrgSettings = settingsOf();
  const scope = createScope();
  const logged: { readonly event: string | undefined }[] = [];
  const note = (_: string, fields: { readonly event?: string } = {}) => void logged.push({ event: fields.event });
  const log = { debug: note, info: note, warn: note, error: note };
  const config = readConfig({ COMPLIANCE_API_URL: sandbox.url });
  const inline = createInlinePorts(
    { config, env, clock, log, workingDirectory: folder },
    undefined,
    scope,
    { archive },
    {},
  );
  onTestFinished(async () => {
    await scope.close();
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  });
  let definition = definitionOf(sections, more);
  let store = memoryResponseStore();
  const index = memoryPreparationIndex();
  const stop = new AbortController();
  const paused = new Map<string, unknown>();
  const active = () => new Map([['acme/weekly', definition.digest]]);
  const buildRunPorts = async () => ({ ...(await inline.buildRunPorts(settings)), responses: store });
  const process = (change: Partial<PreparationRoundPorts> = {}) =>
    createPreparationRounds({
      index,
      reports: () => [{ definition, settings }],
      activeDigests: async () => active(),
      paused: async () => paused,
      keyOf: async () => (await inline.buildRunPorts(settings)).key,
      settingsNow: () => settings,
      buildPreparePorts: buildRunPorts,
      clock,
      log,
      signal: stop.signal,
      ...change,
    });
  const rounds = process();
  const calls = () =>
    sandbox.requests().filter(({ method, path }) => method === 'POST' && path.includes('report')).length;
  const catalogs = () =>
    sandbox.requests().filter(({ path }) => path.includes('catalog') || path.includes('metrics')).length;
  const render = createRenderer(FORMATS);
  return {
    clock,
    sandbox,
    env,
    index,
    paused,
    logged,
    process,
    buildRunPorts,
    rounds,
    calls,
    catalogs,
    stop,
    get store() {
      return store;
    },
    flush: () => {
      store = memoryResponseStore();
    },
    edit: (change: Partial<Definition>) => {
      definition = { ...definition, ...change };
    },
    configure: (change: Partial<OrgSettings>) => {
      settings = { ...settings, ...change };
    },
    /** Runs a slot. Returns its events of fetched calls and its figures. */
    run: async (slot: string) => {
      const order = createRunOrder({
        ...{ definition, settings, slot, at: Date.parse(slot), now: clock.now() },
        ...{ trigger: 'schedule', priority: 'scheduled', deliver: false },
      });
      const events: RunEvent[] = [];
      const context = {
        definition,
        settings,
        signal: stop.signal,
        observe: (event: RunEvent) => void events.push(event),
      };
      const ports = { ...(await inline.buildRunPorts(settings)), render, responses: store };
      const outcome = await run(order, { ...context, lastAttempt: true, fresh: true }, ports);
      if (outcome.kind !== 'done') throw new Error(JSON.stringify(outcome));
      const published = await archive.find(order);
      const files =
        published?.manifest.files
          .filter(({ name }) => name.endsWith('.csv'))
          .map(({ name, sha256 }) => [name, sha256]) ?? [];
      return {
        id: order.id,
        files,
        incomplete: published?.manifest.incomplete ?? [],
        fetched: events.flatMap((event) => (event.type === 'fetched' ? [event] : [])),
      };
    },
  };
}
