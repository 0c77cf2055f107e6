import type { LocaleFormatters } from '../formats.ts';

/** `1 row`, `12 rows` */
export const englishCounter =
  ({ number }: Pick<LocaleFormatters, 'number'>) =>
  (count: number, one: string, many = `${one}s`): string =>
    `${number(count)} ${count === 1 ? one : many}`;
