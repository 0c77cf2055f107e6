import type { MailBody } from './artifact.ts';

/** The mail as one page: a browser knows nothing of the parts that `cid:` means. */
export const onePage = ({ html, pictures }: MailBody): string =>
  pictures.reduce(
    (page, { cid, bytes }) =>
      page.replaceAll(`cid:${cid}`, `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`),
    html,
  );
