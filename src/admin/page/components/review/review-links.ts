/** The section in addresses and forms; `_` is the whole report. */
export const sectionKey = (section: string | null): string => section ?? '_';

/** A rendered file of the content under review. */
export const reviewFilePath = (run: string, name: string): string =>
  `/api/runs/${run}/review/files/${encodeURIComponent(name)}`;

/** The first eight digits of a hash: enough for people to compare. */
export const shortHash = (hash: string): string => hash.slice(0, 8);

/** The e-mail of the content under review, as a page. */
export const reviewPreviewPath = (run: string): string => `/api/runs/${run}/review/preview`;
