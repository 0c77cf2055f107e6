import { spansText } from '../../../definitions/commentary/comment-text.ts';
import type { Dataset } from '../../../fetch/dataset.ts';
import { messagesFor } from '../../../i18n/messages.ts';
import { blockLines } from '../../pack/review/block-lines.ts';
import { packComments } from '../../pack/review/comments.ts';
import type { PackComment } from '../../pack/review/review.ts';
import { fieldText, recordWriter } from './csv-fields.ts';
import { byteOrderMark, type CsvSettings, csvLocale, type SchemaField } from './section-csv.ts';
import { csvDialect, type TableSchema } from './table-schema.ts';

/** The columns of a file of comments, in order. */
const COLUMNS = ['section', 'sectionTitle', 'comment', 'author', 'at'] as const;
type CommentColumn = (typeof COLUMNS)[number];

const commentText = ({ blocks }: PackComment): string =>
  blockLines(blocks)
    .map(({ marker, spans }) => `${marker === '' ? '' : `${marker} `}${spansText(spans)}`)
    .join('\n');

/**
 * The comments of people on a report as CSV, one row each: section id and title, text without emphasis, author, ISO instant
 * (UTC). Encoded and escaped like the files of sections. Requires at least one comment.
 */
export function commentsCsv(dataset: Dataset, settings: CsvSettings): string {
  const locale = csvLocale(settings);
  const words = messagesFor(locale);
  const titles = new Map(dataset.tables.map(({ id, title }) => [id, title]));
  const write = recordWriter(settings.separator);
  const record = (fields: readonly (string | null)[]): string =>
    write(fields.map((text) => (text === null ? null : fieldText(text, settings))));
  const rows = packComments({ dataset, locale, words }).map((comment) => {
    const { section, author, at } = comment;
    const title = section === null ? null : (titles.get(section) ?? null);
    return record([section, title, commentText(comment), author, at]);
  });
  const header = record(COLUMNS.map((column) => words.review.csv[column].name));
  return `${byteOrderMark(settings)}${header}${rows.join('')}`;
}

/** Describes the file of comments for programs. */
export function commentsSchema(settings: CsvSettings): TableSchema {
  const { csv } = messagesFor(csvLocale(settings)).review;
  const type = (column: CommentColumn): SchemaField['type'] => (column === 'at' ? 'datetime' : 'string');
  return {
    $schema: 'https://datapackage.org/profiles/2.0/tableschema.json',
    title: csv.title,
    dialect: csvDialect(settings),
    fields: COLUMNS.map((column) => {
      const { name, description } = csv[column];
      return { name, title: name, type: type(column), description: `${description}.` };
    }),
    missingValues: [''],
  };
}
