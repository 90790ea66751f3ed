// The walk through the norms' half in the worker.
import { batchNormWays, byPackage, takes } from './steps.js';

/** As in panels/runs.js. */
export async function normsRun({ input, masked, seen }, { an, send }) {
  const given = takes(input);
  send({ norms: byPackage(an, given, masked), ways: batchNormWays(an, given, seen), variant: an.variant });
}
