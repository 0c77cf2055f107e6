// Docket's own thread of definitions, but for a text that says it is hostile: that one never ends.
import { serveTasks } from '../../dist/base/serve-tasks.js';
import { handleTask } from '../../dist/compose/definition-tasks.js';

serveTasks((task) => {
  for (; task.text.includes('# endless'); );
  return handleTask(task);
});
