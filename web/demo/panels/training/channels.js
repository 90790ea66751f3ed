/** What is told of every step, behind its number and before the gradient norms of the layers. */
export const CHANNELS = ['loss', 'gradient', 'rate', 'metric'];
