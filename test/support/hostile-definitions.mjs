// Docket's own thread of definitions, but for a text that says it is hostile: that one never ends.
import { serveTasks } from '../../dist/base/serve-tasks.js';
import { answerTask } from '../../dist/compose/definition-tasks.js';

serveTasks((task) => {
  for (; task.text.includes('# endless'); );
  return answerTask(task);
});
