import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { reportFileSchema } from '../../../src/compose/built-in-kinds.ts';
import { createStagingFolder } from '../../../src/deliver/archive/run-folder/staging.ts';
import type { ArchiveStorage, RunFiles, RunRef } from '../../../src/deliver/archive/storage/archive-storage.ts';
import { directoryRunFiles } from '../../../src/deliver/archive/storage/directory-storage.ts';
import type { FrozenDefinition } from '../../../src/queue/definitions/definition-store.ts';
import { cancelledError, type RedisRunStore } from '../../../src/queue/runs/run-store.ts';
import { INITIAL_RUN_FIELDS } from '../../../src/queue/runs/stored-record.ts';
import {
  type RunDecision,
  type RunRecord,
  type RunState,
  runNotFoundError,
  TERMINAL_STATES,
} from '../../../src/run/run-record.ts';

const notHere = (): never => {
  throw new Error('not in this world');
};

/** The files of an archive, in memory, shared by all processes, so that thousands of sequences need no disk. */
export function memoryStorage(folder: string, files: Map<string, Buffer>): ArchiveStorage {
  const below = (prefix: string): RunFiles => ({
    location: `memory:${prefix}`,
    get: async (name) => files.get(prefix + name),
    stream: async (name) => {
      const bytes = files.get(prefix + name);
      return (
        bytes &&
        (async function* () {
          yield bytes;
        })()
      );
    },
    put: async (name, bytes) => void files.set(prefix + name, Buffer.from(bytes)),
    putPair: async (first, second) => {
      for (const { name, bytes } of [first, second]) files.set(prefix + name, Buffer.from(bytes));
    },
    list: async () =>
      [...files.keys()].flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : [])).sort(),
  });
  const prefixOf = ({ org, report, id }: RunRef) => `${org}/${report}/${id}/`;
  return {
    location: 'memory:',
    stage: (run) => createStagingFolder(folder, '', run),
    runFiles: (run) => below(prefixOf(run)),
    listRuns: notHere,
    listOrgs: async () => [],
    find: async () => undefined,
    publish: async (run, staged) => {
      const prefix = prefixOf(run);
      if (files.has(`${prefix}manifest.json`)) return undefined;
      for (const name of await directoryRunFiles(staged).list()) {
        files.set(prefix + name, await readFile(join(staged, name)));
      }
      // The caller removes its staged files.
      const published = await createStagingFolder(folder, 'published-', run.id);
      await rm(published, { recursive: true });
      await rename(staged, published);
      return published;
    },
    checkout: async (run, names) => {
      const target = await createStagingFolder(folder, 'checkout-', run.id);
      const { put } = directoryRunFiles(target);
      for (const name of names) {
        const bytes = files.get(prefixOf(run) + name);
        if (bytes !== undefined) await put(name, bytes);
      }
      return target;
    },
    discardCheckout: (local) => rm(local, { recursive: true, force: true }),
    delete: notHere,
    listForeignFiles: async () => [],
    metadata: {
      ...below(''),
      putIfAbsent: async (name, bytes) => {
        if (files.has(name)) return false;
        files.set(name, Buffer.from(bytes));
        return true;
      },
      list: async (within) => below(`${within}/`).list(),
      deleteAll: async (within) => {
        for (const name of files.keys()) if (name.startsWith(`${within}/`)) files.delete(name);
      },
    },
    probe: async () => ({ ok: true, detail: 'memory' }),
    close: () => {},
  };
}

/** Records with the rules of the scripts `open-run`, `update-run`, `reopen-run` and `request-cancel`. */
export function memoryRuns(records: Map<string, RunRecord>, definitions: Map<string, FrozenDefinition>): RedisRunStore {
  const change = (id: string, fields: Partial<RunRecord>): RunRecord => {
    const record = records.get(id);
    if (record === undefined) throw runNotFoundError(id);
    const changed = { ...record, ...structuredClone(fields) };
    records.set(id, changed);
    return changed;
  };
  return {
    open: async (order, definition) => {
      if (definition !== undefined) definitions.set(order.digest, definition);
      const existing = records.get(order.id);
      if (existing !== undefined) return { opened: false, record: existing };
      const record: RunRecord = { ...structuredClone(order), ...INITIAL_RUN_FIELDS };
      records.set(order.id, record);
      return { opened: true, record };
    },
    get: async (id) => records.get(id),
    update: async (id, fields) => {
      const record = records.get(id);
      if (record === undefined) throw runNotFoundError(id);
      if (fields.state !== undefined) {
        if (TERMINAL_STATES.has(record.state)) return;
        if (!TERMINAL_STATES.has(fields.state) && record.cancel !== null) throw cancelledError(record.cancel);
      }
      change(id, fields);
    },
    note: async (id, decision) => {
      const record = records.get(id);
      if (record !== undefined) change(id, { reopened: [...record.reopened, decision] });
    },
    reopen: async (id: string, from: readonly RunState[], decision: RunDecision) => {
      const record = records.get(id);
      if (record === undefined) return undefined;
      if (JSON.stringify(record.reopened.at(-1)) === JSON.stringify(decision)) return record;
      if (!from.includes(record.state)) return undefined;
      const fields = {
        state: 'queued',
        startedAt: null,
        finishedAt: null,
        until: null,
        error: null,
        cancel: null,
      } as const;
      return change(id, { ...fields, reopened: [...record.reopened, decision] });
    },
    requestCancel: async (id, cancellation) => {
      const record = records.get(id);
      if (record === undefined || record.cancel !== null || TERMINAL_STATES.has(record.state)) return record;
      return change(id, { cancel: cancellation, reopened: [...record.reopened, { what: 'cancel', ...cancellation }] });
    },
    cancelRequested: async (ids) => ids.filter((id) => records.get(id)?.cancel != null),
    list: async ({ limit }) => [...records.values()].slice(0, limit),
    listAndCount: notHere,
    skip: notHere,
    unfinished: async () => [],
    findIdsByPrefix: notHere,
  };
}

export const memoryDefinitions = (frozen: Map<string, FrozenDefinition>) => ({
  reportSchema: reportFileSchema,
  get: async (digest: string) => frozen.get(digest),
  put: async (one: FrozenDefinition) => void frozen.set(one.definition.digest, one),
  putAll: notHere,
  touch: async () => {},
});

/** The jobs of runs by id. A run has at most one job. */
export const memoryQueue = (jobs: Set<string>) => ({
  assignPlace: notHere,
  enqueue: async ({ id }: { readonly id: string }) => void jobs.add(id),
  requeue: async ({ id }: { readonly id: string }) => void jobs.add(id),
  findOrphaned: async (ids: readonly string[]) => ids.filter((id) => !jobs.has(id)),
  remove: async (id: string) => jobs.delete(id),
  promote: async (id: string) => jobs.has(id),
  counts: notHere,
  waitingByPriority: notHere,
  close: async () => {},
});
