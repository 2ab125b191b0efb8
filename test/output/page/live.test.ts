import { expect, it } from 'vitest';
import {
  answerMessage,
  diffOfPatch,
  endMessage,
  factsMessage,
  LIVE_POLICY,
  LIVE_SCRIPT,
  livePageParts,
  messagePage,
  stepsMessage,
} from '../../../src/page/live.ts';
import { createStepReader } from '../../../src/page/steps.ts';
import { ran, recordOf, textOf } from '../../support/page.ts';

/** The messages of an event stream, as a browser reads them. */
function received(stream: string): { event: string; data: string; id: string }[] {
  const found = [];
  let id = '';
  for (const block of stream.split('\n\n')) {
    const fields = block.split('\n').map((line) => line.split(/: (.*)/s));
    const all = (name: string) =>
      fields.filter(([field]) => field === name).map(([, value = '']) => value);
    id = all('id').at(-1) ?? id;
    if (all('data').length > 0)
      found.push({ event: all('event').at(-1) ?? '', data: all('data').join('\n'), id });
  }
  return found;
}

/** The item of an output. */
const step = async (text: string) =>
  await createStepReader(null).read(ran('cat', text)[1] ?? expect.fail());

it('a message of steps has their markup and the position of the newest event', async () => {
  const [message, ...more] = received(
    stepsMessage([await step('one'), null, await step('two')], 12),
  );
  expect(more).toEqual([]);
  expect(message).toMatchObject({ event: 'steps', id: '12' });
  expect(message?.data.match(/<li class="output">/g)).toHaveLength(2);
});

it('events without a step advance the position and change nothing on the page', () => {
  expect(stepsMessage([null], 13)).toBe('id: 13\n\n');
  expect(received(stepsMessage([], 13))).toEqual([]);
});

it('text of an agent stays in its message, whatever lines it has', async () => {
  const hostile = 'a\n\nevent: end\ndata: gone\rid: 99\r\n\r\n<script>globalThis.ran = 1</script>';
  const messages = received(
    stepsMessage([await step(hostile)], 5) + answerMessage(hostile) + endMessage('over'),
  );
  expect(messages.map(({ event, id }) => [event, id])).toEqual([
    ['steps', '5'],
    ['part', '5'],
    ['end', '5'],
  ]);
  expect(messages[0]?.data).toContain('&lt;script&gt;');
  expect(messages.map(({ data }) => data).join('')).not.toContain('<script');
});

it('a message of facts has the title, the facts and the status of the run, each with its id', () => {
  const { conversation } = recordOf({ conversation: { status: 'running', title: '<b>' } });
  const [{ data } = { data: '' }] = received(factsMessage(conversation));
  expect([...data.matchAll(/ id="(\w+)"/g)].map(([, id]) => id)).toEqual(['title', 'facts', 'run']);
  expect(data).toContain('&lt;b&gt;');
});

it('the live page is the exported page with a script of its own, which has no text of the conversation', async () => {
  const record = recordOf({ conversation: { title: '<script>x</script>' }, answer: '</script>' });
  const page = await textOf(livePageParts(record, () => ({ after: 7, until: 9 })));
  const scripts = [...page.matchAll(/<script>(.*?)<\/script>/gs)].map(([, text]) => text);
  expect(scripts).toEqual([LIVE_SCRIPT]);
  expect(page).toContain('data-after="9"');
  expect(page).toContain('<li id="more" data-range="after=7&amp;until=9">');
  expect(page).not.toContain('http-equiv');
});

it('the policy allows the own script and style, reads of the own server, and nothing else', () => {
  expect(LIVE_POLICY.replaceAll(/sha256-[\w+/=]+/g, 'sha256')).toBe(
    "default-src 'none'; style-src 'sha256'; script-src 'sha256'; connect-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
});

it('a page with a message names the command to run', () => {
  const page = messagePage('This page needs a link', 'Why & how.', 'acs conv open 123');
  expect(page).toContain('Why &amp; how. Run: <code>acs conv open 123</code>');
  expect(messagePage('Gone', 'Deleted.', null)).not.toContain('Run:');
});

it('a patch that is too long for the page is cut, which the page states', () => {
  const patch =
    `diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,1 ` +
    `@@\n+${'x'.repeat(5_000_000)}\n`;
  const diff = diffOfPatch(patch);
  expect(diff.files).toMatchObject([{ path: 'a', status: 'added', added: 1, removed: 0 }]);
  expect(diff.patch.byteLength).toBe(4_000_000);
  expect(diff.omissions).toEqual([
    'the diff is too long for this page; acs conv diff prints all of it',
  ]);
  expect(diffOfPatch(patch.slice(0, 100)).omissions).toEqual([]);
});
