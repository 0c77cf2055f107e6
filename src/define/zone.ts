import { z } from 'zod';
import { remembered } from '../base/remembered.ts';

/** Letters first: `+01:00` is an offset, which knows no summer time and which the API refuses as a zone. */
const ZONE_NAME = /^[A-Z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/;

/** Whether this runtime knows the IANA zone, written as IANA writes it: the API is asked with the same letters. */
export const isZone = remembered((name: string): boolean => {
  if (!ZONE_NAME.test(name)) return false;
  try {
    const known = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
    // Intl reads any case; an alias (Asia/Kolkata) may resolve to another name, and only then the letters differ.
    return known === name || known.toLowerCase() !== name.toLowerCase();
  } catch {
    return false;
  }
}, 1_000);

/** An IANA zone name, for periods and schedules. */
export const zoneSchema = z
  .string()
  .refine(isZone, { error: 'an IANA time zone such as Europe/Zurich or UTC', params: { near: 'zone' } });
