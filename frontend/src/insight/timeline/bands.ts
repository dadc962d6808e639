/** Heights of what stands above the lanes, from the top of the canvas. */

/** The strip of the whole capture. */
export const MINI = 26;
export const AXIS = 28;
export const TOP = MINI + AXIS;
