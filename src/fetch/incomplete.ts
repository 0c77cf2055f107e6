// The function stands beside the type because renderers may read `dataset.ts` alone.
export { type IncompleteNote, incompleteNotes } from './dataset.ts';
