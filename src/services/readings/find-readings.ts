import { mapWithConcurrency } from '../../base/concurrency.ts';
import { toDocketError } from '../../base/error.ts';
import type { OrgRef } from '../../contract/organization.ts';
import type { ReadingArchive } from '../../deliver/archive/readings/reading-archive.ts';
import { type FindReadings, questionId } from '../../plan/reading.ts';

/** Readings opened at the same time. */
const CONCURRENCY = 8;

/**
 * Finds the stored readings in an archive. A damaged reading counts as a gap; `docket archive verify` reports it. So
 * does one of another organization of the service, because a folder of definitions may have belonged to another one
 * before.
 */
export const findReadings =
  (archive: ReadingArchive, serviceOrg: OrgRef): FindReadings =>
  async (org, dimension, days) => {
    const question = questionId(dimension);
    const wanted = new Set(days);
    const stored = (await archive.list(org)).filter(
      (state) => state.stored && state.question === question && wanted.has(state.day),
    );
    const readings = await mapWithConcurrency(stored, CONCURRENCY, ({ day }) =>
      archive.get({ org, day, question }).catch((thrown: unknown) => {
        if (toDocketError(thrown).code !== 'archive.corrupt') throw thrown;
        return undefined;
      }),
    );
    const own = readings.filter((reading) => reading?.service_org === String(serviceOrg));
    return new Map(own.flatMap((reading) => (reading === undefined ? [] : [[reading.day, reading] as const])));
  };
