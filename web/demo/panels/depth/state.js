// What the Depth panel adds to the state, as in state.js.

export const DEPTH_PROPS = [];
