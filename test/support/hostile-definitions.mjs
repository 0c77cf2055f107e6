// The definition thread of Docket, except that it never returns for a text that says it is hostile.
import { serveTasks } from '../../src/base/task-thread.ts';
import { BUILT_IN_READING } from '../../src/compose/built-in-kinds.ts';
import { handleTask } from '../../src/services/definitions/definition-tasks.ts';

serveTasks((task) => {
  for (; [task, ...(task.texts ?? [])].some(({ text }) => text?.includes('# endless')); );
  return handleTask(BUILT_IN_READING, task);
});
