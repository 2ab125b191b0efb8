/**
 * Makes a fresh id that has a letter. `--id` rejects ids without one (commands/conv/chosen-id.ts).
 *
 * Servers:  openhands-ai on SQLite, 1.6.0 and 1.11.0
 * Symptom:  after `conv new` with an id of digits only every read of start tasks is 500.
 * Evidence: interface 4.1; test/traps/starting.test.ts
 * Cost:     0 requests
 * Remove:   unknown
 */
import { normalId } from '../ids.ts';

export function freshId(random: () => string): string {
  for (;;) {
    const id = normalId(random());
    if (/[a-f]/.test(id)) return id;
  }
}
