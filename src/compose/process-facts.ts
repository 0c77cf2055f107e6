import { statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Expected, type ProcessFacts, TARGET_KINDS } from '../admin/metrics.ts';
import { version } from '../base/version.ts';
import type { Jobs } from '../define/load.ts';
import type { Surroundings } from './ports.ts';

/** What the metrics say of this process. @param keeps whether it writes into the archive */
export function processFacts(
  { config, clock }: Pick<Surroundings, 'config' | 'clock'>,
  { keeps }: { readonly keeps: boolean },
): ProcessFacts {
  const place = config.DOCKET_ARCHIVE ?? { kind: 'directory', folder: resolve('archive') };
  const facts = { version: version(), clock };
  if (!keeps || place.kind !== 'directory') return facts;
  return {
    ...facts,
    disk: async () => {
      const { bavail, blocks, bsize } = await statfs(place.folder);
      return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
    },
  };
}

/** Whose series start at 0: every organization, with the kinds of targets of its reports. */
export function expectedOf({ orgs, reports }: Pick<Jobs, 'orgs' | 'reports'>): readonly Expected[] {
  const kinds = new Map([...orgs.keys()].map((org) => [org, new Set<string>()]));
  for (const { org, deliveries } of reports.values()) {
    for (const delivery of deliveries) {
      for (const kind of TARGET_KINDS) if (delivery[kind] !== undefined) kinds.get(org)?.add(kind);
    }
  }
  return [...kinds].map(([org, of]) => ({ org, kinds: of }));
}
