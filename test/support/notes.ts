import { type Note, noteIn, type Table } from '../../src/fetch/dataset.ts';
import { wordsOf } from '../../src/words/words.ts';

/** The notes of a table as English sentences. */
export const notesIn = ({ notes }: Table): Note[] => notes.map((note) => noteIn(wordsOf(), note));
