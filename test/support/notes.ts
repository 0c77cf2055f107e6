import type { Table } from '../../src/fetch/dataset.ts';
import { formatNote, type Note } from '../../src/fetch/notes.ts';
import { messagesFor } from '../../src/i18n/messages.ts';

/** The notes of a table as English sentences. */
export const notesIn = ({ notes }: Table): Note[] => notes.map((note) => formatNote(messagesFor(), note));
