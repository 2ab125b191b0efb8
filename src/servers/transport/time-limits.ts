/** How long requests, and the connections and pauses around them, may take: milliseconds. */
export const LIMITS_MS = {
  /** A request whose call has no other limit. */
  request: 30_000,
  /** A request of the probe. */
  probe: 10_000,
  /** The whole probe, repeated requests included: a server may send its answer slowly without ever being silent. */
  wholeProbe: 60_000,
  /** A start of a conversation, and creating, pausing, resuming or deleting a sandbox, which waits for its runtime. */
  start: 120_000,
  /** A message through the app server, which resumes a paused sandbox first. */
  send: 90_000,
  /** A deletion of a conversation, which may delete its sandbox. */
  deletion: 60_000,
  /** The read after a deletion that was not answered. */
  readAfterDeletion: 5_000,
  /** A read that only adds to an answer. */
  optionalRead: 5_000,
  /** A request that the agent server answers when the current step has ended. */
  step: 300_000,
  /** An interruption of the current step. */
  interrupt: 60_000,
  /** A rename at the agent server: the title is set at once, and the answer may come after the current step. */
  agentRename: 5_000,
  /** A file that a server writes after it has received all of it. */
  fileWrite: 120_000,
  /** A web socket that opens. */
  socket: 15_000,
  /**
   * One address of a name with several. The 250 ms of Node are less than a distant server takes, and the next address
   * may be of a network that is not there.
   */
  address: 3_000,
  /** A kept connection without a request: the other end may have closed one that is older. */
  idleConnection: 4_000,
  /** The longest `Retry-After`; after a longer one the command fails instead of waiting. */
  pause: 60_000,
  /** A pause that is not reported; longer ones are announced by a notice. */
  silentPause: 5_000,
} as const;
