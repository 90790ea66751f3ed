// What the Weights panel adds to the state, as in state.js.

export const WEIGHTS_PROPS = [];
