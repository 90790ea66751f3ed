// What the Activations panel adds to the state, as in state.js.

export const ACTIVATIONS_PROPS = [];
