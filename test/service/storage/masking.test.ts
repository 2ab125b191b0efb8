import { describe, expect, it } from 'vitest';
import { Mask } from '../../../src/service/storage/masking.ts';
import { useEmptiedWorker } from '../agent-server/support/shared-sandboxes.ts';
import { message, outputs, step, type OwnWorker } from '../agent-server/support/worker.ts';

const TOKEN = 'tok-"4711"-secret';
const PEM =
  '-----BEGIN KEY-----\nfirst-line-of-the-key\nsecond-line-of-the-key\n-----END KEY-----\n';

describe('the events of a conversation', () => {
  let worker: OwnWorker;
  useEmptiedWorker((started) => (worker = started), { spec: 'process' });

  it('contain no value of a secret in any member', async () => {
    const events = await worker.play(
      [
        step.run(`echo '${TOKEN}'; echo "$PEM"; echo $PEM`, { thought: `I use ${TOKEN}` }),
        // Across the place where the middle of a long output is left out.
        step.run(
          `printf '%14990s'; printf %s "$TOKEN"; printf '%40000s'; printf %s "$TOKEN"; ` +
            `printf '%14990s'`,
        ),
        step.create('notes.txt', `token: ${TOKEN}\n${PEM}`),
        step.run(`cat notes.txt; false`),
        step.finish(`It was ${TOKEN}.`),
      ],
      { secrets: { TOKEN, PEM }, initial_message: message(`Use ${TOKEN}`) },
    );
    expect(outputs(events)[0]).toMatch(/^<secret-hidden>\n/);
    expect(JSON.stringify(events)).toContain('I use <secret-hidden>');
    const shown = JSON.stringify(events);
    for (const part of ['4711', 'tok-', '-secret"', 'first-line-of', 'second-line-of']) {
      expect([part, shown.includes(part)]).toEqual([part, false]);
    }
    expect((await worker.call('GET', '/api/conversations/search')).body).toMatchObject({
      items: [{ title: 'Use <secret-hidden>' }],
    });
  });

  it('keep their structure when a secret equals one of its names', async () => {
    const events = await worker.play([step.run('echo terminal agent'), step.finish()], {
      secrets: { A: 'terminal', B: 'agent', C: 'finished', D: 'ActionEvent' },
    });
    expect(outputs(events)).toEqual(['terminal agent']);
    expect(events.find((event) => event.kind === 'ObservationEvent')).toMatchObject({
      tool_name: 'terminal',
      observation: { kind: 'TerminalObservation' },
    });
  });
});

describe('a mask', () => {
  const masked = (secrets: Record<string, string>, text: string): string =>
    new Mask(Object.values(secrets)).text(text);

  it('replaces the longest of values that contain each other', () => {
    expect(masked({ A: 'abc-1234', B: 'abc-123456' }, 'abc-123456 abc-1234')).toBe(
      '<secret-hidden> <secret-hidden>',
    );
  });

  it('replaces a value of several lines as a whole, with other line ends, and line by line', () => {
    for (const text of [
      PEM.trim(),
      PEM.trim().replaceAll('\n', '\r\n'),
      JSON.stringify(PEM.trim()).slice(1, -1),
    ]) {
      expect(masked({ PEM }, text)).toBe('<secret-hidden>');
    }
    expect(masked({ PEM }, 'a first-line-of-the-key b')).toBe('a <secret-hidden> b');
  });

  it('replaces the rest of a value where a text was cut', () => {
    const cut = '\n[... 9 characters of output left out ...]\n';
    expect(masked({ A: 'my-s3cret' }, `x my-s3${cut}cret y`)).toBe(
      `x <secret-hidden>${cut}<secret-hidden> y`,
    );
    expect(masked({ A: 'my-s3cret' }, 'x my-s3\n[... 9 characters left out ...]')).toBe(
      'x <secret-hidden>\n[... 9 characters left out ...]',
    );
  });

  it('does not change a text without secrets', () => {
    expect(masked({ A: '' }, 'text')).toBe('text');
  });
});
