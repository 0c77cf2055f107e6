import { FORMATS } from '../../src/render/formats/registry.ts';
import { createRenderTask } from '../../src/render/render-task.ts';
import { createRenderer } from '../../src/render/renderer.ts';
import { outlineFormat } from './outline-format.ts';

/** The task of a render thread that also knows the outline format. */
export default createRenderTask(createRenderer([...FORMATS, outlineFormat]));
