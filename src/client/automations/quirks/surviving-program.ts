/**
 * Ends the conversation of a cancelled run, or says that the program of the run continues.
 *
 * Servers:  openhands-automation 1.13.1 beside agent server 1.49.1
 * Symptom:  `automation stop` reports a cancelled run whose agent works on
 * Evidence: 3 of 3 runs of a genuine backend; test/client/quirks/surviving-program.test.ts
 * Cost:     one request before the cancellation, on backends only
 * Remove:   unknown
 */
import type { AutomationRun } from '../../../domain/automation.ts';
import { dashedId } from '../../../domain/ids.ts';
import type { Links } from '../../shared/links.ts';

export async function endProgram(
  links: Links,
  { id, started_at }: AutomationRun,
  conversation: string | null,
): Promise<void> {
  if (conversation !== null) {
    const path = `/api/conversations/${dashedId(conversation)}/interrupt`;
    await links.app.request({ method: 'POST', path, safe: 'idempotent', accept: [404, 409] });
  } else if (started_at !== null)
    links.notice(
      `the service does not end the program of run ${id}; stop a conversation that it starts: ` +
        'acs conv list, acs conv stop <id>',
    );
}
