import type { Formats } from '../formats.ts';

/** `1 row`, `12 rows` */
export const counter =
  ({ number }: Pick<Formats, 'number'>) =>
  (count: number, one: string, many = `${one}s`): string =>
    `${number(count)} ${count === 1 ? one : many}`;
