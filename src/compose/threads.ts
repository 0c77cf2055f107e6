/** The modules that threads run. They are in this folder because they use all targets, formats and features. */
export const RENDER_THREAD = new URL('./render-thread.js', import.meta.url);
export const DEFINITION_THREAD = new URL('./definition-thread.js', import.meta.url);
export const FORECAST_THREAD = new URL('./forecast-thread.js', import.meta.url);
