// Work that is spread over tasks, one deed each, so that nothing holds up the page for long.
const waiting = new Set();
const { port1, port2 } = new MessageChannel();

port1.onmessage = () => {
  const [deed] = waiting;
  waiting.delete(deed);
  if (waiting.size > 0) port2.postMessage(0);
  deed?.();
};

/** Does something soon; what already waits is done once. @param {() => void} deed */
export function later(deed) {
  if (waiting.size === 0) port2.postMessage(0);
  waiting.add(deed);
}
