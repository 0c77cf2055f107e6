import { closeDirections } from './bidi.ts';

/**
 * Somebody else's text as a part of a line: without line breaks and control characters, and without what would turn the
 * direction of the rest of the line around.
 */
export const singleLine = (text: string): string => closeDirections(text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' '));
