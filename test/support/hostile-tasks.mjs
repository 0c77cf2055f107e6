// A thread whose tasks say what they do: return, throw, never end, or use all memory.
import { serveTasks } from '../../src/base/task-thread.ts';

const kept = [];
const deeper = (depth) => deeper(depth + 1) + 1;

serveTasks((task) => {
  if (task === 'throw') throw new Error('thrown');
  if (task === 'stack') return deeper(0);
  for (; task === 'endless'; );
  for (; task === 'memory'; ) kept.push(Array.from({ length: 10_000 }, (_, index) => ({ index })));
  return `${task} done`;
});
