import { serveTasks } from '../base/task-thread.ts';
import { computeForecast } from '../services/forecast/forecast-work.ts';

serveTasks(computeForecast);
