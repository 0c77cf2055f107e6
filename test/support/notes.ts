import { formatNote, type Note, type Table } from '../../src/fetch/dataset.ts';
import { messagesFor } from '../../src/i18n/messages.ts';

/** The notes of a table as English sentences. */
export const notesIn = ({ notes }: Table): Note[] => notes.map((note) => formatNote(messagesFor(), note));
