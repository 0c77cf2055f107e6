import { styleText } from 'node:util';

/** Where something is shown: standard output or standard error. */
export type Shown = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/** Somebody looks at it, and it can move its cursor: no pipe, no file, no `TERM=dumb`. */
export const isTerminal = (stream: Shown, env: NodeJS.ProcessEnv = process.env): boolean =>
  stream.isTTY === true && env.TERM !== 'dumb';

/** How many characters a line may have, or none where nobody looks at lines. */
export const widthOf = (stream: Shown): number | undefined =>
  isTerminal(stream) ? stream.columns || undefined : undefined;

export type Style = Parameters<typeof styleText>[0];

/** Text in colour where the stream can show it: Node's own rule, which knows terminals, `NO_COLOR` and `FORCE_COLOR`. */
export const inStyle = (style: Style, text: string, stream: Shown = process.stdout): string =>
  styleText(style, text, { stream });

/** A text of at most so many characters, its end given up for `…`. */
export function clip(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`;
}
