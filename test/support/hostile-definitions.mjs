// Docket's own thread of definitions, but for a text that says it is hostile: that one never ends.
import { serveTasks } from '../../dist/base/task-thread.js';
import { handleTask } from '../../dist/services/definitions/definition-tasks.js';

serveTasks((task) => {
  for (; task.text.includes('# endless'); );
  return handleTask(task);
});
