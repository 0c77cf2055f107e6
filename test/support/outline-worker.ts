import { FORMATS } from '../../src/render/formats/registry.ts';
import { createRenderTask } from '../../src/render/render-task.ts';
import { createRenderer } from '../../src/render/renderer.ts';
import { outlineFormat } from './outline-format.ts';

/** What a render thread runs that knows the outline, too. */
export default createRenderTask(createRenderer([...FORMATS, outlineFormat]));
