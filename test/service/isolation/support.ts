import type { RunParameters } from '../../../src/service/isolation/protocol.ts';

/** A command without a session; the first and the last 8 characters of its output are kept. */
export const RUN: RunParameters = {
  command: 'true',
  session: null,
  reset: false,
  startIn: '.',
  cwd: null,
  env: {},
  merged: false,
  live: false,
  keepHead: 8,
  keepTail: 8,
};
