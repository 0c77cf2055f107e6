import { serveTasks } from '../base/serve-tasks.ts';
import { answerTask } from './definition-tasks.ts';

serveTasks(answerTask);
