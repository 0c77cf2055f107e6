import { FORMATS } from '../features/formats.ts';
import { createRenderTask } from '../render/render-task.ts';
import { createRenderer } from '../render/renderer.ts';

export default createRenderTask(createRenderer(FORMATS));
