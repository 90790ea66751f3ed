// What the Training panel adds to the state, as in state.js.

export const TRAINING_PROPS = [];
