import { z } from 'zod';

/** Ids of organizations, reports and sections: they are names of folders, files and sheets on every system. */
export const ID = /^[a-z0-9][a-z0-9_-]{0,62}$/;
export const ID_WORDS = 'lower-case letters, digits, "-" and "_" (at most 63, starting with a letter or digit)';

export const idSchema = z.string().regex(ID, ID_WORDS);

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** One line of text. A line break in a subject or a file name would let a value pass for something else. */
export const lineSchema = (max: number) =>
  z
    .string()
    .min(1, 'a text that is not empty')
    .max(max, `at most ${max} characters`)
    .refine((text) => !CONTROL.test(text), 'a text on one line, without control characters');

/** A text that may have several lines. */
export const textSchema = (max: number) =>
  z.string().min(1, 'a text that is not empty').max(max, `at most ${max} characters`);
