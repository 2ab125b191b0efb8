/**
 * Sends a change of a run, and reads the state of the run until it shows the change; else the
 * change is sent again, or reported.
 *
 * Servers:  openhands-ai 1.11.0 (a refused run, an acceptance or a message without effect, a status
 *           that changes late); early V1 agent servers (a rejection without effect); 1.6.0 over V0
 *           (a state that changes late)
 * Symptom:  `conv resume` exits 6, and `conv confirm` and `conv send` exit 0 without effect, for
 *           seconds after the end of a run; with --wait they end at once with the status before.
 * Evidence: interface 12 and 13 "Late state" and "Rejections"; rate unknown;
 *           test/client/v1/confirmations.test.ts, test/client/v1/send.test.ts
 * Cost:     1 to 3 reads for each change; reads for up to 20 s when it has no effect
 * Remove:   unknown
 */
import { isAppError } from '../../../base/errors.ts';
import { poll, QUICK } from '../../../runs/poll.ts';
import type { Links } from '../links.ts';

const AGAIN_MS = 5_000;
const LIMIT_MS = 20_000;

/** `refused`: sent again at the next read. `needless`: nothing was sent. */
type Sent = 'accepted' | 'refused' | 'needless';

export interface LateChange {
  send(): Promise<Sent>;
  isVisible(): Promise<boolean>;
  again?: () => Promise<Sent>;
  /** For the notice when the state cannot be read: `the message was stored`. */
  done: string;
  next: string;
}

/** A read that fails after the change was accepted is a notice, not a failure. */
export async function untilEffect(
  links: Links,
  { send, isVisible, again, done, next }: LateChange,
): Promise<'visible' | 'invisible' | 'refused' | 'needless'> {
  const { clock } = links;
  let request = send;
  let sent = await request();
  let sentAtMs = clock.now();
  const until = sentAtMs + LIMIT_MS;
  const visible = async () => {
    if (sent === 'refused') sent = await request();
    if (sent === 'needless') return sent;
    if (sent === 'refused') return undefined;
    if (await isVisible()) return 'visible';
    if (again === undefined || clock.now() - sentAtMs < AGAIN_MS || clock.now() >= until)
      return undefined;
    request = again;
    sentAtMs = clock.now();
    sent = await request();
    return sent === 'needless' ? sent : undefined;
  };
  try {
    return (
      (await poll(visible, { ...links, every: QUICK, until })) ??
      (sent === 'refused' ? 'refused' : 'invisible')
    );
  } catch (error) {
    if (!isAppError(error) || sent !== 'accepted') throw error;
    links.notice(`${done}; its effect could not be read (${error.message}): ${next}`);
    // The notice comes before the error, so that the caller does not send the change a second time.
    if (error.kind === 'interrupted') throw error;
    return 'visible';
  }
}
